import { encodeTypedSseEvent, sseKeepAlive, sseKeepAliveSeconds } from "@berth/api/http/Sse"
import { runtimeBodyLimit, RuntimeConfiguration, RuntimePaths } from "@berth/api/runtime/RuntimeContract"
import { RuntimeErrors } from "@berth/api/runtime/RuntimeErrors"
import { Turn } from "@berth/domain/instances/AgentRuntime"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Duration, Effect, Option, type Redacted } from "effect"
import type { ServerResponse } from "node:http"
import { RuntimeAgents } from "../agents/RuntimeAgents.ts"
import { TurnExecution } from "../interaction/TurnExecution.ts"
import { reportHealth, type RuntimeIdentity, reportStats, reportStorage } from "./RuntimeReports.ts"
import { requireToken } from "./TokenGuard.ts"
import { respondUnreadableBody, respondInvalidFields, respondError } from "./RuntimeErrorResponses.ts"

const configure = Effect.gen(function* () {
  const { agents } = yield* HttpServerRequest.schemaBodyJson(RuntimeConfiguration)
  yield* Effect.flatMap(RuntimeAgents, ({ replace }) => replace(agents))
  yield* Effect.logInfo("Agents configured").pipe(Effect.annotateLogs({ agents: agents.length }))
  return HttpServerResponse.empty({ status: 204 })
})

const keepAliveMs = Duration.toMillis(Duration.seconds(sseKeepAliveSeconds))

const awaitDrain = (response: ServerResponse) =>
  Effect.async<void>((resume) => {
    const onDrain = () => resume(Effect.void)
    response.once("drain", onDrain)
    return Effect.sync(() => response.off("drain", onDrain))
  })

const answerTurnRequest = Effect.gen(function* () {
  const turn = yield* HttpServerRequest.schemaBodyJson(Turn)
  const run = yield* Effect.flatMap(TurnExecution, ({ begin }) => begin(turn))
  const response = NodeHttpServerRequest.toServerResponse(yield* HttpServerRequest.HttpServerRequest)
  let keepAlives: NodeJS.Timeout | undefined
  // Hot path: the turn writes its response itself, since a stream takes some hundred operations.
  const answered = Effect.suspend(() => {
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-accel-buffering": "no"
    })
    keepAlives = setInterval(() => response.write(sseKeepAlive), keepAliveMs)
    // The first frame confirms that the turn was accepted.
    response.write(sseKeepAlive)
    return run((events) =>
      response.write(events.map(encodeTypedSseEvent).join("")) ? undefined : awaitDrain(response)
    )
  })
  yield* Effect.ensuring(
    answered,
    Effect.sync(() => {
      clearInterval(keepAlives)
      response.end()
    })
  )
  // The listener ignores the response of an ended one.
  return HttpServerResponse.empty()
}).pipe(
  Effect.catchTags({
    AgentNotHosted: () => respondError(RuntimeErrors.agentNotFound),
    TurnLimitReached: () => respondError(RuntimeErrors.busy),
    RuntimeStopping: () => respondError(RuntimeErrors.stopping)
  })
)

/** An announced length above the limit is rejected before the body is read; other bodies are cut off at the limit. */
const limitBody = <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }): HttpApp.Default<E, R> =>
    Number(headers["content-length"] ?? 0) > runtimeBodyLimit
      ? respondError(RuntimeErrors.bodyTooLarge)
      : HttpIncomingMessage.withMaxBodySize(app, Option.some(runtimeBodyLimit))
  )

/** The runtime's listener, for the backend only. */
export const layer = (
  options: RuntimeIdentity & { readonly token: Redacted.Redacted; readonly agentsDirectory: string }
) =>
  HttpRouter.empty.pipe(
    HttpRouter.get(RuntimePaths.health, reportHealth(options)),
    HttpRouter.get(RuntimePaths.storage, reportStorage(options.agentsDirectory)),
    HttpRouter.get(RuntimePaths.stats, reportStats),
    HttpRouter.put(RuntimePaths.configuration, configure),
    HttpRouter.post(RuntimePaths.turns, answerTurnRequest),
    HttpRouter.use(limitBody),
    HttpRouter.catchTags({
      ParseError: respondInvalidFields,
      RequestError: respondUnreadableBody,
      RouteNotFound: () => respondError(RuntimeErrors.routeNotFound)
    }),
    Effect.catchAllDefect((defect) =>
      Effect.zipRight(Effect.logError("Request failed unexpectedly", defect), respondError(RuntimeErrors.internal))
    ),
    requireToken(options.token),
    HttpServer.serve(),
    HttpMiddleware.withTracerDisabledForUrls([RuntimePaths.health, RuntimePaths.stats])
  )
