import { runtimeBodyLimit, RuntimeConfiguration, RuntimeHealth, RuntimePaths } from "@berth/api/runtime/RuntimeContract"
import { formatEventFrame, keepAliveFrame, keepAliveSeconds } from "@berth/api/runtime/RuntimeFrames"
import { Turn } from "@berth/domain/instances/AgentRuntime"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Duration, Effect, Mailbox, Option, type Redacted, Schedule, Stream } from "effect"
import { RuntimeAgents } from "../agents/RuntimeAgents.ts"
import { TurnExecution } from "../interaction/TurnExecution.ts"
import { requireToken } from "./TokenGuard.ts"
import { respondUnreadableBody, respondInvalidFields, respondError } from "./RuntimeErrorResponses.ts"

export interface RuntimeIdentity {
  readonly runtimeVersion: string
  /** Epoch milliseconds. */
  readonly startedAt: number
}

const health = ({ runtimeVersion, startedAt }: RuntimeIdentity) =>
  Effect.flatMap(RuntimeAgents, ({ ids }) =>
    Effect.flatMap(ids, (agents) =>
      Effect.orDie(HttpServerResponse.schemaJson(RuntimeHealth)({ status: "ok", runtimeVersion, startedAt, agents }))
    )
  )

const configure = Effect.gen(function* () {
  const { agents } = yield* HttpServerRequest.schemaBodyJson(RuntimeConfiguration)
  yield* Effect.flatMap(RuntimeAgents, ({ replace }) => replace(agents))
  yield* Effect.logInfo("The cell was configured").pipe(Effect.annotateLogs({ agents: agents.length }))
  return HttpServerResponse.empty({ status: 204 })
})

const answerTurnRequest = Effect.gen(function* () {
  const turn = yield* HttpServerRequest.schemaBodyJson(Turn)
  const run = yield* Effect.flatMap(TurnExecution, ({ begin }) => begin(turn))
  const frames = yield* Mailbox.make<string>()
  // The first frame goes out at once, so that the other side knows the turn was taken; silence is filled.
  yield* frames.offer(keepAliveFrame)
  yield* frames
    .offer(keepAliveFrame)
    .pipe(Effect.schedule(Schedule.spaced(Duration.seconds(keepAliveSeconds))), Effect.forkScoped)
  yield* run((events) => frames.offer(Array.from(events, formatEventFrame).join(""))).pipe(
    Effect.ensuring(frames.end),
    Effect.forkScoped
  )
  return HttpServerResponse.stream(Stream.encodeText(Mailbox.toStream(frames)), {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
  })
}).pipe(
  Effect.catchTags({
    AgentNotHosted: () => respondError(404, "agent_not_found", "This cell does not have that agent."),
    TurnLimitReached: () => respondError(503, "busy", "Too many turns wait in this cell."),
    RuntimeStopping: () => respondError(503, "ending", "This cell is being stopped.")
  })
)

/** A body that announces its length is refused before any of it is read; others are cut off at the limit. */
const limitBody = <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }): HttpApp.Default<E, R> =>
    Number(headers["content-length"] ?? 0) > runtimeBodyLimit
      ? respondError(413, "body_too_large", `The body is larger than ${runtimeBodyLimit} bytes.`)
      : HttpIncomingMessage.withMaxBodySize(app, Option.some(runtimeBodyLimit))
  )

/** The cell's listener: what the backend, and nobody else, may ask of it. */
export const layer = (options: RuntimeIdentity & { readonly token: Redacted.Redacted }) =>
  HttpRouter.empty.pipe(
    HttpRouter.get(RuntimePaths.health, health(options)),
    HttpRouter.put(RuntimePaths.configuration, configure),
    HttpRouter.post(RuntimePaths.turns, answerTurnRequest),
    HttpRouter.use(limitBody),
    HttpRouter.catchTags({
      ParseError: respondInvalidFields,
      RequestError: respondUnreadableBody,
      RouteNotFound: () => respondError(404, "not_found", "There is nothing here.")
    }),
    Effect.catchAllDefect((defect) =>
      Effect.zipRight(
        Effect.logError("A request died", defect),
        respondError(500, "internal", "The cell failed at this request.")
      )
    ),
    requireToken(options.token),
    HttpServer.serve(),
    HttpMiddleware.withTracerDisabledForUrls([RuntimePaths.health])
  )
