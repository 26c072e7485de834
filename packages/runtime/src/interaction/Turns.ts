import type { CellTurnEvent } from "@berth/api/cell/CellContract"
import type { AgentId } from "@berth/domain/agents/Agent"
import type { Turn } from "@berth/domain/instances/AgentRuntime"
import { Cause, Data, Effect, Either, Stream } from "effect"
import { Agents } from "../agents/Agents.ts"
import type { ModelCallFailed, ModelCalls } from "../ai/ModelCalls.ts"
import type { Toolbox } from "../skills/Toolbox.ts"
import { answerTurn } from "./AnswerTurn.ts"
import { type CellIsEnding, Drain } from "./Drain.ts"
import * as SessionQueue from "./SessionQueue.ts"

export class AgentIsNotHere extends Data.TaggedError("AgentIsNotHere")<{ readonly agentId: AgentId }> {}

/** Turns a cell holds, waiting ones included. */
const places = 256
/** Turns that a cell works on at the same time. */
const parallel = 32

/** Answers a turn that has its place in line; ends when the last event has been handed over, and never fails. */
export type RunTurn = (emit: (events: Iterable<CellTurnEvent>) => Effect.Effect<void>) => Effect.Effect<void>

/** Turns of one session are answered strictly in order of arrival, those of different sessions side by side. */
export class Turns extends Effect.Service<Turns>()("@berth/runtime/Turns", {
  effect: Effect.gen(function* () {
    const agents = yield* Agents
    const outside = yield* Effect.context<ModelCalls | Toolbox>()
    const drain = yield* Drain
    const sessions = yield* SessionQueue.make({ places })
    const permits = yield* Effect.makeSemaphore(parallel)

    /** Takes the turn's place in its session's line. It is given up with the scope, which is that of the answer. */
    const begin = Effect.fn("Turns.begin")(function* (turn: Turn) {
      const ids = { "gen_ai.agent.id": turn.agentId, "berth.session.id": turn.sessionId }
      yield* Effect.annotateCurrentSpan(ids)
      yield* drain.admit
      const agent = yield* Effect.flatMap(
        agents.find(turn.agentId),
        Effect.mapError(() => new AgentIsNotHere({ agentId: turn.agentId }))
      )
      const myTurn = yield* sessions.join(turn.sessionId)
      const run: RunTurn = (emit) =>
        Stream.runForEachChunk(answerTurn(agent, turn), emit).pipe(
          Effect.provide(outside),
          permits.withPermits(1),
          (work) => Effect.zipRight(myTurn, work),
          Effect.raceFirst(drain.timeIsUp),
          Effect.zipRight(Effect.logInfo("A turn was answered")),
          Effect.catchAllCause((cause) => Effect.flatMap(failed(cause), (event) => emit([event]))),
          Effect.annotateLogs({ agentId: turn.agentId, sessionId: turn.sessionId }),
          Effect.withSpan("Turns.answer", { attributes: { "gen_ai.operation.name": "invoke_agent", ...ids } })
        )
      return run
    })

    return { begin }
  })
}) {}

/** A turn that fails says so as its last event. */
const failed = (cause: Cause.Cause<ModelCallFailed | CellIsEnding>): Effect.Effect<CellTurnEvent> =>
  Either.match(Cause.failureOrCause(cause), {
    onLeft: (error) => {
      const message = error._tag === "ModelCallFailed" ? error.reason : "The agent's cell was stopped in the middle."
      return Effect.as(Effect.annotateLogs(Effect.logWarning("A turn failed"), { reason: message }), {
        type: "error",
        message
      })
    },
    onRight: (defect) =>
      // Who left hears nothing.
      Cause.isInterruptedOnly(defect)
        ? Effect.failCause(defect)
        : Effect.as(Effect.logError("A turn died", defect), {
            type: "error",
            message: "The agent's cell failed at this turn."
          })
  })
