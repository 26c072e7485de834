import type { RuntimeTurnEvent } from "@berth/api/runtime/RuntimeContract"
import type { Turn } from "@berth/domain/instances/AgentRuntime"
import { Cause, Data, Effect, Either, Stream } from "effect"
import { RuntimeAgents } from "../agents/RuntimeAgents.ts"
import type { ModelCallFailed, ModelClient } from "../ai/ModelClient.ts"
import type { Toolbox } from "../skills/Toolbox.ts"
import { answerTurn } from "./TurnAnswer.ts"
import { type RuntimeStopping, Drain } from "./Drain.ts"
import * as SessionQueue from "./SessionQueue.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"

export class AgentNotHosted extends Data.TaggedError("AgentNotHosted")<{ readonly agentId: AgentId }> {}

/** Turns a cell holds, waiting ones included. */
const maximumTurns = 256
/** Turns that a cell works on at the same time. */
const maximumConcurrentTurns = 32

/** Answers a turn that has its place in line; ends when the last event has been handed over, and never fails. */
export type TurnRunner = (emit: (events: Iterable<RuntimeTurnEvent>) => Effect.Effect<void>) => Effect.Effect<void>

/** Turns of one session are answered strictly in order of arrival, those of different sessions side by side. */
export class TurnExecution extends Effect.Service<TurnExecution>()("@berth/runtime/TurnExecution", {
  effect: Effect.gen(function* () {
    const agents = yield* RuntimeAgents
    const outside = yield* Effect.context<ModelClient | Toolbox>()
    const drain = yield* Drain
    const sessions = yield* SessionQueue.make({ places: maximumTurns })
    const permits = yield* Effect.makeSemaphore(maximumConcurrentTurns)

    /** Takes the turn's place in its session's line. It is given up with the scope, which is that of the answer. */
    const begin = Effect.fn("TurnExecution.begin")(function* (turn: Turn) {
      const ids = { "gen_ai.agent.id": turn.agentId, "berth.session.id": turn.sessionId }
      yield* Effect.annotateCurrentSpan(ids)
      yield* drain.admitTurn
      const agent = yield* Effect.flatMap(
        agents.find(turn.agentId),
        Effect.mapError(() => new AgentNotHosted({ agentId: turn.agentId }))
      )
      const myTurn = yield* sessions.join(turn.sessionId)
      const run: TurnRunner = (emit) =>
        Stream.runForEachChunk(answerTurn(agent, turn), emit).pipe(
          Effect.provide(outside),
          permits.withPermits(1),
          (work) => Effect.zipRight(myTurn, work),
          Effect.raceFirst(drain.awaitDeadline),
          Effect.zipRight(Effect.logInfo("A turn was answered")),
          Effect.catchAllCause((cause) => Effect.flatMap(toErrorEvent(cause), (event) => emit([event]))),
          Effect.annotateLogs({ agentId: turn.agentId, sessionId: turn.sessionId }),
          Effect.withSpan("TurnExecution.answer", { attributes: { "gen_ai.operation.name": "invoke_agent", ...ids } })
        )
      return run
    })

    return { begin }
  })
}) {}

/** A turn that fails says so as its last event. */
const toErrorEvent = (cause: Cause.Cause<ModelCallFailed | RuntimeStopping>): Effect.Effect<RuntimeTurnEvent> =>
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
