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
import { Deferred, Duration, Effect, Either, Layer, Redacted, Runtime, Scope, Stream } from "effect"
import type { IncomingMessage } from "node:http"
import { OutboundClient } from "../net/OutboundClient.ts"

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

/** Maximum pages of a list of tools. */
const maximumPages = 4
/** Maximum messages to a server in one exchange, since the library answers each request of the server. */
const maximumMessages = 16
const maximumErrorLength = 500
const sessionEndTimeLimit = Duration.seconds(1)

const toWebHeaders = ({ headers }: IncomingMessage) =>
  new Headers(
    Object.entries(headers).flatMap(([name, value]): Array<[string, string]> =>
      typeof value === "string" ? [[name, value]] : []
    )
  )

/** Implements `fetch` with the guarded client. Follows no redirects, and opens no streams outside of a call. */
const makeFetch = Effect.fnUntraced(function* (
  open: OutboundClient["Type"]["open"],
  server: McpServer,
  abandoned: Deferred.Deferred<never, McpCallFailed>
) {
  const scope = yield* Effect.scope
  const run = Runtime.runPromise(yield* Effect.runtime<never>())
  const secrets = Object.entries(server.headers).map(([name, value]) => [name, Redacted.value(value)] as const)
  let left = maximumMcpBytes
  let messages = 0

  const limited = (response: IncomingMessage) =>
    NodeStream.fromReadable<McpCallFailed, Uint8Array>(
      () => response,
      () => failed("Its answer broke off.")
    ).pipe(
      Stream.mapEffect((bytes) => {
        left -= bytes.length
        return left >= 0
          ? Effect.succeed(bytes)
          : Effect.zipRight(Deferred.fail(abandoned, tooLong), Effect.fail(tooLong))
      })
    )

  const fetch: FetchLike = async (url, init = {}) => {
    const method = init.method === "DELETE" ? "DELETE" : "POST"
    if (init.method === "GET") return new Response(null, { status: 405 })
    if (method === "POST" && ++messages > maximumMessages) {
      await run(Deferred.fail(abandoned, tooManyRequests))
      throw tooManyRequests
    }
    const headers = new Headers(init.headers)
    headers.set("accept-encoding", "identity")
    for (const [name, value] of secrets) headers.set(name, value)
    const exchange = open({
      method,
      url: new URL(url),
      headers: Object.fromEntries(headers),
      ...(typeof init.body === "string" ? { body: init.body } : {})
    }).pipe(
      Effect.mapError((error) =>
        error._tag === "AddressNotAllowed"
          ? failed("Its host is not on the public internet, so it cannot be reached.")
          : failed("It could not be reached.")
      ),
      Effect.filterOrFail(
        ({ statusCode = 0 }) => statusCode < 300 || statusCode >= 400,
        ({ statusCode }) => failed(`It answered with the redirect ${statusCode}, which is not followed.`)
      ),
      Scope.extend(scope),
      Effect.either
    )
    const opened = await run(exchange, init.signal ? { signal: init.signal } : {})
    if (Either.isLeft(opened)) throw opened.left
    const response = opened.right
    const status = response.statusCode ?? 500
    const hasBody = status !== 204 && status !== 304
    return new Response(hasBody ? Stream.toReadableStream(limited(response)) : null, {
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
          fetch: yield* makeFetch(open, server, abandoned),
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
