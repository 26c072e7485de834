import { cellBodyLimit, CellConfiguration, CellHealth, CellPaths } from "@berth/api/cell/CellContract"
import { eventFrame, keepAliveFrame, keepAliveSeconds } from "@berth/api/cell/CellFrames"
import { Turn } from "@berth/domain/instances/AgentRuntime"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Duration, Effect, Mailbox, Option, type Redacted, Schedule, Stream } from "effect"
import { Agents } from "../agents/Agents.ts"
import { Turns } from "../interaction/Turns.ts"
import { guard } from "./Guard.ts"
import { badBody, badFields, refusal } from "./Refusals.ts"

export interface Identity {
  readonly runtimeVersion: string
  /** Epoch milliseconds. */
  readonly startedAt: number
}

const health = ({ runtimeVersion, startedAt }: Identity) =>
  Effect.flatMap(Agents, ({ ids }) =>
    Effect.flatMap(ids, (agents) =>
      Effect.orDie(HttpServerResponse.schemaJson(CellHealth)({ status: "ok", runtimeVersion, startedAt, agents }))
    )
  )

const configure = Effect.gen(function* () {
  const { agents } = yield* HttpServerRequest.schemaBodyJson(CellConfiguration)
  yield* Effect.flatMap(Agents, ({ replace }) => replace(agents))
  yield* Effect.logInfo("The cell was configured").pipe(Effect.annotateLogs({ agents: agents.length }))
  return HttpServerResponse.empty({ status: 204 })
})

const takeTurn = Effect.gen(function* () {
  const turn = yield* HttpServerRequest.schemaBodyJson(Turn)
  const run = yield* Effect.flatMap(Turns, ({ begin }) => begin(turn))
  const frames = yield* Mailbox.make<string>()
  // The first frame goes out at once, so that the other side knows the turn was taken; silence is filled.
  yield* frames.offer(keepAliveFrame)
  yield* frames
    .offer(keepAliveFrame)
    .pipe(Effect.schedule(Schedule.spaced(Duration.seconds(keepAliveSeconds))), Effect.forkScoped)
  yield* run((events) => frames.offer(Array.from(events, eventFrame).join(""))).pipe(
    Effect.ensuring(frames.end),
    Effect.forkScoped
  )
  return HttpServerResponse.stream(Stream.encodeText(Mailbox.toStream(frames)), {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
  })
}).pipe(
  Effect.catchTags({
    AgentIsNotHere: () => refusal(404, "agent_not_found", "This cell does not have that agent."),
    TooManyTurns: () => refusal(503, "busy", "Too many turns wait in this cell."),
    CellIsEnding: () => refusal(503, "ending", "This cell is being stopped.")
  })
)

/** A body that announces its length is refused before any of it is read; others are cut off at the limit. */
const limited = <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<E, R> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }): HttpApp.Default<E, R> =>
    Number(headers["content-length"] ?? 0) > cellBodyLimit
      ? refusal(413, "body_too_large", `The body is larger than ${cellBodyLimit} bytes.`)
      : HttpIncomingMessage.withMaxBodySize(app, Option.some(cellBodyLimit))
  )

/** The cell's listener: what the backend, and nobody else, may ask of it. */
export const layer = (options: Identity & { readonly token: Redacted.Redacted }) =>
  HttpRouter.empty.pipe(
    HttpRouter.get(CellPaths.health, health(options)),
    HttpRouter.put(CellPaths.configuration, configure),
    HttpRouter.post(CellPaths.turns, takeTurn),
    HttpRouter.use(limited),
    HttpRouter.catchTags({
      ParseError: badFields,
      RequestError: badBody,
      RouteNotFound: () => refusal(404, "not_found", "There is nothing here.")
    }),
    Effect.catchAllDefect((defect) =>
      Effect.zipRight(
        Effect.logError("A request died", defect),
        refusal(500, "internal", "The cell failed at this request.")
      )
    ),
    guard(options.token),
    HttpServer.serve(),
    HttpMiddleware.withTracerDisabledForUrls([CellPaths.health])
  )
