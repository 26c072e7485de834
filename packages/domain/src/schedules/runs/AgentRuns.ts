import { Cause, Data, Effect, Option } from "effect"
import { isUp } from "../../agents/AgentStatus.ts"
import { type ChannelTurn, type ChannelTurnOutcome, ChannelTurns } from "../../channels/ChannelTurns.ts"
import { getIdSuffix } from "../../ids/IdGenerator.ts"
import type { BackendUnavailable } from "../../instances/InstanceErrors.ts"
import { ChatSessionId, MessageId } from "../../interaction/Conversation.ts"
import type { AgentRunId } from "./AgentRun.ts"
import { AgentRunRepository, type RunEnd, type StartedRun } from "./AgentRunRepository.ts"

/** The agent has too many messages in progress; the job repeats the run. */
class AgentBusy extends Data.TaggedError("AgentBusy")<object> {
  override readonly message = "The agent has too many messages in progress."
}

/** Id of a run's turn; the same for every attempt. */
export const makeRunTurnId = (id: AgentRunId): MessageId => MessageId.make(`msg_${getIdSuffix(id)}`)

/** Runs of a schedule continue one conversation; runs of skills share one per agent. */
const makeSessionId = ({ agentId, scheduleId }: StartedRun) =>
  ChatSessionId.make(scheduleId === null ? `chs_${getIdSuffix(agentId)}_skills` : `chs_${getIdSuffix(scheduleId)}`)

const describeTask = ({ input, prompt, skillId }: StartedRun): Pick<ChannelTurn, "message" | "invocation"> => {
  if (prompt !== null) return { message: prompt }
  const { arguments: args = {}, tool = "" } = input ?? {}
  return {
    message: `Run ${tool} of the skill ${skillId}: ${JSON.stringify(args)}`,
    invocation: { tool, arguments: args }
  }
}

const ended = (state: RunEnd["state"], reason: string | null, result: string | null = null): RunEnd => ({
  state,
  reason,
  result
})

const refusals = {
  units: ended("refused", "No units were left."),
  budget: ended("refused", "A budget of the account or the agent was used up."),
  agent: ended("skipped", "The agent is not running."),
  owner: ended("skipped", "The owner's account is suspended."),
  speech: ended("skipped", "No provider transcribed the recording.")
}

/** Maps the outcome of a turn to the end of its run; none if the run must be repeated. */
export const findRunEnd = (outcome: ChannelTurnOutcome): Option.Option<RunEnd> => {
  switch (outcome.type) {
    case "answered":
      return Option.some(ended("succeeded", null, outcome.reply))
    case "failed":
    // A tool has run although no model was called, so the turn must not be repeated.
    case "unbegun":
      return Option.some(ended("failed", outcome.reason))
    case "refused":
      return Option.some(refusals[outcome.why])
    case "busy":
      return Option.none()
  }
}

const describeFailure = (cause: Cause.Cause<AgentBusy | BackendUnavailable>) =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => "An internal error occurred.",
    onSome: (error) => (error._tag === "AgentBusy" ? error.message : `The backend was not available: ${error.reason}`)
  })

/** Executes runs. Idempotent: each run has one turn and one stored end. */
export class AgentRuns extends Effect.Service<AgentRuns>()("@berth/AgentRuns", {
  effect: Effect.gen(function* () {
    const runs = yield* AgentRunRepository
    const turns = yield* ChannelTurns

    const findEnd = Effect.fnUntraced(function* (run: StartedRun) {
      if (run.isSuspended) return refusals.owner
      if (!isUp(run.agentStatus)) return ended("skipped", `The agent is not running: its status is ${run.agentStatus}.`)
      const outcome = yield* turns.answer({
        userId: run.ownerId,
        agentId: run.agentId,
        platform: "schedule",
        sessionId: makeSessionId(run),
        messageId: makeRunTurnId(run.id),
        ...describeTask(run)
      })
      return yield* Effect.mapError(findRunEnd(outcome), () => new AgentBusy())
    })

    const execute = Effect.fn("AgentRuns.execute")(function* (id: AgentRunId, isLastAttempt: boolean) {
      const started = yield* runs.begin(id)
      if (Option.isNone(started)) return
      const run = started.value
      yield* Effect.annotateCurrentSpan({ "agent.id": run.agentId, "user.id": run.ownerId })
      const end = yield* findEnd(run).pipe(
        Effect.catchAllCause((cause) =>
          isLastAttempt && !Cause.isInterrupted(cause)
            ? Effect.succeed(ended("failed", describeFailure(cause)))
            : Effect.failCause(cause)
        )
      )
      const { agentId } = run
      if (yield* runs.finish(id, makeRunTurnId(id), end))
        yield* Effect.logInfo("Run ended").pipe(Effect.annotateLogs({ runId: id, agentId, state: end.state }))
    })

    return { execute }
  })
}) {}
