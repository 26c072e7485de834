import {
  maximumMcpBytes,
  McpCallFailed,
  mcpCallTimeLimit,
  McpClient,
  mcpListTimeLimit
} from "@berth/domain/skills/mcp/McpClient"
import { type McpServer, redactMcpSecrets } from "@berth/domain/skills/mcp/McpServer"
import { type ListedMcpTool, maximumMcpTools } from "@berth/domain/skills/mcp/McpTool"
import { NodeStream } from "@effect/platform-node"
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import {
  Deferred,
  Duration,
  Effect,
  Either,
  Layer,
  Mailbox,
  Option,
  Redacted,
  Runtime,
  Schema,
  Scope,
  Stream
} from "effect"
import type { IncomingMessage } from "node:http"
import { OutboundClient } from "../net/OutboundClient.ts"
import { readMcpAnswer } from "./McpAnswer.ts"

/** Loaded on first use, since the library's schemas load slowly. */
const loadSdk = Effect.promise(async () => {
  const [{ Client }, { StreamableHTTPClientTransport, StreamableHTTPError }, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js")
  ])
  return { Client, Transport: StreamableHTTPClientTransport, StreamableHTTPError, types }
})
type Sdk = Effect.Effect.Success<typeof loadSdk>

const failed = (reason: string) => new McpCallFailed({ reason })
const tooLong = failed(`Its answers have more than ${maximumMcpBytes} bytes.`)
const tooManyRequests = failed("It sent too many requests of its own.")
const brokeOff = failed("Its answer broke off.")
const unreachable = failed("It could not be reached.")
/** By value, since Effect wraps failures inside a span. */
const isUnreachable = ({ reason }: McpCallFailed) => reason === unreachable.reason

/** Maximum pages of a list of tools. */
const maximumPages = 4
/** Maximum requests to a server in one exchange: the library answers each of its requests, and answers are resumed. */
const maximumRequests = 16
/** Maximum repetitions of a request that resumes an answer. */
const maximumRetries = 2
const maximumErrorLength = 500
const sessionEndTimeLimit = Duration.seconds(1)

const toWebHeaders = ({ headers }: IncomingMessage) =>
  new Headers(
    Object.entries(headers).flatMap(([name, value]): Array<[string, string]> =>
      typeof value === "string" ? [[name, value]] : []
    )
  )

/** Faults that a server can recover from. */
const isTransient = ({ statusCode = 500 }: IncomingMessage) => statusCode === 429 || statusCode >= 500
const isEventStream = ({ headers, statusCode }: IncomingMessage) =>
  statusCode === 200 && /^\s*text\/event-stream\s*(;|$)/i.test(headers["content-type"] ?? "")

const readJson = Schema.decodeUnknownOption(Schema.parseJson())
const readRequest = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Struct({ id: Schema.Int, method: Schema.String }))
)

/** Implements `fetch` with the guarded client. Follows no redirects, and opens no streams outside of a call. */
const makeFetch = Effect.fnUntraced(function* (
  open: OutboundClient["Type"]["open"],
  server: McpServer,
  { types }: Sdk,
  abandoned: Deferred.Deferred<never, McpCallFailed>
) {
  const scope = yield* Effect.scope
  const run = Runtime.runPromise(yield* Effect.runtime<never>())
  const secrets = Object.entries(server.headers).map(([name, value]) => [name, Redacted.value(value)] as const)
  let left = maximumMcpBytes
  let requests = 0

  const limited = (response: IncomingMessage) =>
    NodeStream.fromReadable<McpCallFailed, Uint8Array>(
      () => response,
      () => brokeOff
    ).pipe(
      Stream.mapEffect((bytes) => {
        left -= bytes.length
        return left >= 0
          ? Effect.succeed(bytes)
          : Effect.zipRight(Deferred.fail(abandoned, tooLong), Effect.fail(tooLong))
      })
    )

  const exchange = (method: "GET" | "POST" | "DELETE", url: URL, headers: Headers, body?: string) => {
    const sent = new Headers(headers)
    sent.set("accept-encoding", "identity")
    for (const [name, value] of secrets) sent.set(name, value)
    return open({ method, url, headers: Object.fromEntries(sent), ...(body !== undefined && { body }) }).pipe(
      Effect.mapError((error) =>
        error._tag === "AddressNotAllowed"
          ? failed("Its host is not on the public internet, so it cannot be reached.")
          : unreachable
      ),
      Effect.filterOrFail(
        ({ statusCode = 0 }) => statusCode < 300 || statusCode >= 400,
        ({ statusCode }) => failed(`It answered with the redirect ${statusCode}, which is not followed.`)
      )
    )
  }

  /** Reads the answer of a request within the exchange's scope, whose end also ends the resumption. */
  const readAnswer = (response: IncomingMessage, id: number, url: URL, sent: Headers) => {
    const headers = new Headers(sent)
    headers.set("accept", "text/event-stream")
    headers.delete("content-type")
    const session = response.headers["mcp-session-id"]
    if (typeof session === "string") headers.set("mcp-session-id", session)
    const isResponse = (message: unknown) =>
      (types.isJSONRPCResultResponse(message) || types.isJSONRPCErrorResponse(message)) && Number(message.id) === id
    const resume = (lastEventId: string, delay: Duration.Duration) =>
      Effect.suspend(() => {
        if (++requests > maximumRequests) return Effect.fail(brokeOff)
        headers.set("last-event-id", lastEventId)
        return exchange("GET", url, headers)
      }).pipe(
        Effect.filterOrFail(
          (resumed) => !isTransient(resumed),
          () => unreachable
        ),
        Effect.delay(delay),
        Effect.retry({ times: maximumRetries, while: isUnreachable }),
        Effect.filterOrFail(isEventStream, () => brokeOff),
        Effect.mapBoth({ onSuccess: limited, onFailure: (error) => (isUnreachable(error) ? brokeOff : error) })
      )
    return readMcpAnswer(limited(response), {
      brokeOff,
      isResponse: (data) => Option.exists(readJson(data), isResponse),
      resume
    }).pipe(
      Stream.tapError((error) => Deferred.fail(abandoned, error)),
      Mailbox.fromStream({ capacity: 1 }),
      Effect.map(Mailbox.toStream)
    )
  }

  const fetch: FetchLike = async (url, init = {}) => {
    const method = init.method === "DELETE" ? "DELETE" : "POST"
    // The stream outside of a call; the answers of calls are resumed here.
    if (init.method === "GET") return new Response(null, { status: 405 })
    if (method === "POST" && ++requests > maximumRequests) {
      await run(Deferred.fail(abandoned, tooManyRequests))
      throw tooManyRequests
    }
    const body = typeof init.body === "string" ? init.body : undefined
    const [target, headers] = [new URL(url), new Headers(init.headers)]
    const answered = exchange(method, target, headers, body).pipe(
      Effect.flatMap((response) =>
        Option.match(
          Option.filter(readRequest(body), () => isEventStream(response)),
          {
            onNone: () => Effect.succeed({ response, bytes: limited(response) }),
            onSome: ({ id }) => Effect.map(readAnswer(response, id, target, headers), (bytes) => ({ response, bytes }))
          }
        )
      ),
      Scope.extend(scope),
      Effect.either
    )
    const opened = await run(answered, init.signal ? { signal: init.signal } : {})
    if (Either.isLeft(opened)) throw opened.left
    const { bytes, response } = opened.right
    const status = response.statusCode ?? 500
    const hasBody = status !== 204 && status !== 304
    return new Response(hasBody ? Stream.toReadableStream(bytes) : null, {
      status,
      headers: toWebHeaders(response)
    })
  }
  return fetch
})

/** Returns a reason without secrets and without the body of an error response. */
const toFailure =
  ({ StreamableHTTPError, types }: Sdk, server: McpServer) =>
  (cause: unknown) => {
    if (cause instanceof McpCallFailed) return cause
    if (cause instanceof StreamableHTTPError)
      return failed(
        (cause.code ?? 0) > 0 ? `It answered with status ${cause.code}.` : "It does not respond in the protocol."
      )
    if (cause instanceof types.McpError)
      return failed(redactMcpSecrets(server, cause.message.slice(0, maximumErrorLength)))
    return failed("It does not respond in the protocol.")
  }

const toText = ({ content, structuredContent }: CallToolResult): string => {
  const texts = content.map((part) => {
    if (part.type === "text") return part.text
    if (part.type === "resource_link") return `${part.name}: ${part.uri}`
    if (part.type === "resource" && "text" in part.resource) return part.resource.text
    return `[A part of the type ${part.type} was left out.]`
  })
  return texts.length === 0 && structuredContent !== undefined ? JSON.stringify(structuredContent) : texts.join("\n")
}

/** The official SDK over the guarded client. Each use has a separate connection. */
export const layer = Layer.effect(
  McpClient,
  Effect.gen(function* () {
    const { open } = yield* OutboundClient
    const cachedSdk = yield* Effect.cached(loadSdk)

    const use = <A>(
      server: McpServer,
      limit: Duration.Duration,
      body: (client: Client, sdk: Sdk, signal: AbortSignal) => Promise<A>
    ): Effect.Effect<A, McpCallFailed> =>
      Effect.gen(function* () {
        const sdk = yield* cachedSdk
        const abandoned = yield* Deferred.make<never, McpCallFailed>()
        const transport = new sdk.Transport(new URL(server.url), {
          fetch: yield* makeFetch(open, server, sdk, abandoned),
          reconnectionOptions: {
            maxRetries: 0,
            initialReconnectionDelay: 1000,
            maxReconnectionDelay: 1000,
            reconnectionDelayGrowFactor: 1
          }
        })
        const client = yield* Effect.acquireRelease(
          Effect.sync(() => new sdk.Client({ name: "berth", version: "1" })),
          (opened) => Effect.promise(() => opened.close())
        )
        const result = yield* Effect.tryPromise({
          try: async (signal) => {
            await client.connect(transport, { signal })
            return await body(client, sdk, signal)
          },
          catch: toFailure(sdk, server)
        }).pipe(Effect.raceFirst(Deferred.await(abandoned)))
        if (transport.sessionId !== undefined)
          yield* Effect.tryPromise(() => transport.terminateSession()).pipe(
            Effect.timeout(sessionEndTimeLimit),
            Effect.ignore
          )
        return result
      }).pipe(
        Effect.scoped,
        Effect.timeoutFail({
          duration: limit,
          onTimeout: () => failed(`It did not answer within ${Duration.format(limit)}.`)
        })
      )

    const requestOptions = (signal: AbortSignal) => ({ signal, timeout: Duration.toMillis(mcpCallTimeLimit) })

    return McpClient.of({
      listTools: Effect.fn("McpClient.listTools")((server: McpServer) =>
        use(server, mcpListTimeLimit, async (client, { types }, signal) => {
          const tools: Array<ListedMcpTool> = []
          let cursor: string | undefined
          for (let page = 0; page < maximumPages && tools.length < maximumMcpTools; page++) {
            const listed = await client.request(
              { method: "tools/list", params: cursor === undefined ? {} : { cursor } },
              types.ListToolsResultSchema,
              requestOptions(signal)
            )
            tools.push(...listed.tools)
            cursor = listed.nextCursor
            if (cursor === undefined) break
          }
          return tools
        })
      ),
      callTool: Effect.fn("McpClient.callTool")(function* (
        server: McpServer,
        tool: string,
        args: Readonly<Record<string, unknown>>
      ) {
        // Avoids `callTool`, which compiles the server's result schemas.
        const { isError, text } = yield* use(server, mcpCallTimeLimit, async (client, { types }, signal) => {
          const result = await client.request(
            { method: "tools/call", params: { name: tool, arguments: { ...args } } },
            types.CallToolResultSchema,
            requestOptions(signal)
          )
          return { isError: result.isError, text: redactMcpSecrets(server, toText(result)) }
        })
        return isError === true ? yield* failed(text.slice(0, maximumErrorLength) || "The tool failed.") : text
      })
    })
  })
)
