import { BatchEmpty } from "@berth/api/mcp/McpApi"
import { completeTransportError } from "@berth/api/mcp/McpErrorShape"
import { WebApi } from "@berth/api/WebApi"
import { readerFromStream } from "@berth/domain/ai/streams/ChunkReader"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Principal } from "@berth/domain/sessions/Principal"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Runtime } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { respondFrames } from "../http/SseResponse.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeAgentTools, type OfferedTool, type ReportProgress } from "./AgentTools.ts"
import { readTextStream, toWebRequest, withoutCanceled, withoutTasks } from "./McpMessages.ts"
import { refuseInvalidParams } from "./RequestParams.ts"

/** Loaded by the first request, since the library's schemas load slowly. */
const loadSdk = Effect.promise(async () => {
  const [{ McpServer }, { WebStandardStreamableHTTPServerTransport }, schemas, { AjvJsonSchemaValidator }] =
    await Promise.all([
      import("@modelcontextprotocol/sdk/server/mcp.js"),
      import("@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"),
      import("@modelcontextprotocol/sdk/types.js"),
      import("@modelcontextprotocol/sdk/validation/ajv")
    ])
  return {
    McpServer,
    Transport: WebStandardStreamableHTTPServerTransport,
    schemas,
    validator: new AjvJsonSchemaValidator()
  }
})

const instructions = "Each agent of the account is a tool. Enabled skills of the agents are tools too."

export const layer = group(WebApi, "mcp", (handlers) =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const tools = yield* makeAgentTools
    const sdk = yield* Effect.cached(loadSdk)
    const { serviceVersion } = yield* WebSettings

    /** Stateless: every request has a separate server, so any process can answer it. */
    const openServer = Effect.gen(function* () {
      const principal = yield* Principal
      const { McpServer, schemas, Transport, validator } = yield* sdk
      const run = Runtime.runPromise(yield* Effect.runtime<never>())
      // The high-level API does not accept JSON Schemas.
      const { server } = new McpServer(
        { name: "berth", version: serviceVersion },
        { instructions, jsonSchemaValidator: validator }
      )
      // Registered here, since the high-level API announces notifications, which a stateless server cannot send.
      server.registerCapabilities({ tools: { listChanged: false } })
      // Evaluated once for all messages of a batch.
      const offered = yield* Effect.cached(tools.list(principal))
      /** Unlike `McpError`, without the code in the message. */
      const refuse = (message: string) => Object.assign(new Error(message), { code: schemas.ErrorCode.InvalidParams })
      server.setRequestHandler(schemas.ListToolsRequestSchema, async ({ params }) => {
        // The only page has no `nextCursor`.
        if ((params?.cursor ?? "") !== "") throw refuse("params.cursor: There is no such page")
        return await run(Effect.map(offered, (all) => ({ tools: all.map(({ tool }) => tool) })))
      })
      server.setRequestHandler(
        schemas.CallToolRequestSchema,
        async ({ params }, { _meta, sendNotification, signal }) => {
          const progressToken = _meta?.progressToken
          let progress = 0
          const report: ReportProgress = (message) =>
            progressToken === undefined
              ? Effect.void
              : Effect.promise(() => {
                  progress += 1
                  return sendNotification({
                    method: "notifications/progress",
                    params: { progressToken, progress, message }
                  })
                })
          const find = (all: ReadonlyArray<OfferedTool>) =>
            Option.fromNullable(all.find(({ tool }) => tool.name === params.name))
          const called = Effect.flatMap(offered, (all) =>
            Effect.transposeOption(Option.map(find(all), (tool) => tool.run(params.arguments, report)))
          )
          const result = await run(called, { signal })
          if (Option.isSome(result)) return result.value
          throw refuse(`There is no tool ${params.name}`)
        }
      )
      const transport = new Transport()
      yield* Effect.acquireRelease(
        Effect.promise(() => server.connect(transport)),
        () => Effect.promise(() => server.close())
      )
      refuseInvalidParams(transport, schemas)
      return transport
    })

    return handlers.handleRaw("send", ({ request }) =>
      Effect.gen(function* () {
        const count = limiter.take("gateway", (yield* Principal).user.id)
        yield* count
        const sent = yield* Effect.orDie(request.json)
        if (Array.isArray(sent)) {
          if (sent.length === 0) return yield* new BatchEmpty()
          yield* Effect.replicateEffect(count, sent.length - 1, { discard: true })
        }
        const parsedBody = withoutTasks(withoutCanceled(sent))
        const transport = yield* openServer
        const response = yield* Effect.promise(() => transport.handleRequest(toWebRequest(request), { parsedBody }))
        const { body, headers, status } = response
        if (body !== null && headers.get("content-type") === "text/event-stream")
          return respondFrames(readerFromStream(readTextStream(body)))
        const text = completeTransportError(status, yield* Effect.promise(() => response.text()), sent)
        return HttpServerResponse.text(text, { status, contentType: headers.get("content-type") ?? "application/json" })
      }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
    )
  })
)
