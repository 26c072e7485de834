import type { RuntimeTurnEvent } from "@berth/api/runtime/RuntimeContract"
import type { RuntimeAgent, Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { nameProvider } from "@berth/domain/ai/calls/ModelTelemetry"
import { findHomeProvider, parseModelName } from "@berth/domain/ai/models/ModelRoutes"
import { logInfoWith } from "@berth/domain/shared/AnnotatedLog"
import { provideDirectly, scopedDirectly } from "@berth/domain/shared/HotPath"
import type { ToolFailed } from "@berth/domain/skills/tools/Tool"
import { forEachBatch } from "@berth/domain/ai/streams/ChunkSource"
import { Cause, Context, Data, Effect, Either, FiberRef, HashMap } from "effect"
import { RuntimeAgents } from "../agents/RuntimeAgents.ts"
import { type ModelCallFailed, ModelClient } from "../ai/ModelClient.ts"
import { McpBackend } from "../skills/BackendCalls.ts"
import { Toolbox } from "../skills/Toolbox.ts"
import { answerTurn } from "./TurnAnswer.ts"
import { type RuntimeStopping, Drain } from "./Drain.ts"
import * as SessionQueue from "./SessionQueue.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"

class AgentNotHosted extends Data.TaggedError("AgentNotHosted")<{ readonly agentId: AgentId }> {}

/** Maximum turns in progress and waiting. */
const maximumTurns = 256
const maximumConcurrentTurns = 64

/**
 * Runs a queued turn; succeeds after the last event is emitted, and never fails. `emit` returns an effect to wait for
 * if its reader is slow.
 */
export type TurnRunner = (
  emit: (events: ReadonlyArray<RuntimeTurnEvent>) => Effect.Effect<void> | undefined
) => Effect.Effect<void>

/** Turns of a session run in order of arrival; different sessions run concurrently. */
export class TurnExecution extends Effect.Service<TurnExecution>()("@berth/runtime/TurnExecution", {
  effect: Effect.gen(function* () {
    const agents = yield* RuntimeAgents
    // Picked once, since every turn copies them.
    const services = Context.pick(
      ModelClient,
      Toolbox,
      McpBackend
    )(yield* Effect.context<ModelClient | Toolbox | McpBackend>())
    const drain = yield* Drain
    const sessions = yield* SessionQueue.make({ places: maximumTurns })
    const permits = yield* Effect.makeSemaphore(maximumConcurrentTurns)

    /** Enters the session's queue; leaves it when the scope of the response closes. */
    const begin = Effect.fnUntraced(function* (turn: Turn) {
      yield* drain.admitTurn
      const agent = yield* Effect.flatMap(
        agents.find(turn.agentId),
        Effect.mapError(() => new AgentNotHosted({ agentId: turn.agentId }))
      )
      const awaitTurn = yield* sessions.join(turn.sessionId)
      const run: TurnRunner = (emit) =>
        Effect.flatMap(answerTurn(agent, turn), (answer) =>
          forEachBatch(answer, (events) => {
            const drained = emit(events)
            const logged = logAnswer(events)
            return drained === undefined || logged === undefined
              ? (drained ?? logged)
              : Effect.zipRight(drained, logged)
          })
        ).pipe(
          scopedDirectly,
          (work) => provideDirectly(work, services),
          permits.withPermits(1),
          (work) => Effect.zipRight(awaitTurn, work),
          drain.untilDeadline,
          withTurnSpan(agent, turn),
          Effect.catchAllCause((cause) => Effect.flatMap(toErrorEvent(cause), (event) => emit([event]) ?? Effect.void)),
          (work) => Effect.zipRight(annotateLogs({ agentId: turn.agentId, sessionId: turn.sessionId }), work)
        )
      return run
    })

    return { begin }
  })
}) {}

/** Annotates the logs of the fiber, which ends with its turn. */
const annotateLogs = (annotations: Readonly<Record<string, unknown>>) =>
  FiberRef.update(FiberRef.currentLogAnnotations, (before) =>
    HashMap.union(before, HashMap.fromIterable(Object.entries(annotations)))
  )

/** Opens a span if the trace is recorded; other spans are not relayed. */
const withTurnSpan =
  ({ model, name }: RuntimeAgent, { agentId, sessionId }: Turn) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime<A, E, R>(({ currentSpan }) =>
      currentSpan?.sampled === true
        ? Effect.withSpan(work, "TurnExecution.answer", {
            attributes: {
              "gen_ai.operation.name": "invoke_agent",
              // Another provider can run the model; the spans of its calls name it.
              "gen_ai.provider.name": nameProvider(findHomeProvider(model)),
              "gen_ai.agent.name": name,
              "gen_ai.request.model": parseModelName(model),
              "gen_ai.agent.id": agentId,
              "gen_ai.conversation.id": sessionId
            }
          })
        : work
    )

/** Names the model, since another model than the agent's may have answered. */
const logAnswer = (events: ReadonlyArray<TurnEvent>) => {
  const last = events.at(-1)
  return last?.type === "done"
    ? logInfoWith("Turn answered", { model: last.model, provider: last.provider })
    : undefined
}

/** Returns the last event of a failed turn. */
const toErrorEvent = (
  cause: Cause.Cause<ModelCallFailed | ToolFailed | RuntimeStopping>
): Effect.Effect<RuntimeTurnEvent> =>
  Either.match(Cause.failureOrCause(cause), {
    onLeft: (error) => {
      const message = error._tag === "RuntimeStopping" ? "The agent's instance stopped during the turn." : error.reason
      return Effect.as(Effect.annotateLogs(Effect.logWarning("Turn failed"), { reason: message }), {
        type: "error",
        message
      })
    },
    onRight: (defect) =>
      Cause.isInterruptedOnly(defect)
        ? Effect.failCause(defect)
        : Effect.as(Effect.logError("Turn failed unexpectedly", defect), {
            type: "error",
            message: "The agent's runtime failed at this turn."
          })
  })
