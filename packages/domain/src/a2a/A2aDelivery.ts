import { Cause, Data, DateTime, Effect, Option, Schema } from "effect"
import { isUp } from "../agents/AgentStatus.ts"
import { ChannelTurns } from "../channels/ChannelTurns.ts"
import { getIdSuffix } from "../ids/IdGenerator.ts"
import { ChatSessionId } from "../interaction/Conversation.ts"
import { TurnBudgets } from "../interaction/turns/TurnBudgets.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { findRunEnd } from "../schedules/runs/AgentRuns.ts"
import { type A2aMessageId, DelegatedCall, formatForAgent, makeA2aTurnId, type StartedMessage } from "./A2aMessage.ts"
import { A2aRepository } from "./A2aRepository.ts"

/** The receiver has too many messages in progress; the job repeats the delivery. */
class A2aReceiverBusy extends Data.TaggedError("A2aReceiverBusy")<object> {}

const decodeCall = Schema.decodeUnknown(DelegatedCall)

type End = Parameters<A2aRepository["Type"]["finish"]>[1]
const ended = (status: End["status"], reason: string): End => ({ status, reason, reply: null })

/** Delivers messages to their receivers. Idempotent: each message has one turn and one stored outcome. */
export class A2aDelivery extends Effect.Service<A2aDelivery>()("@berth/A2aDelivery", {
  effect: Effect.gen(function* () {
    const repository = yield* A2aRepository
    const turns = yield* ChannelTurns
    const budgets = yield* TurnBudgets
    const transaction = yield* Transaction

    const describe = Effect.fnUntraced(function* (started: StartedMessage) {
      const { payload, skill } = started.envelope
      if (skill === undefined) return { message: formatForAgent(started) }
      const { arguments: args = {}, tool } = yield* Effect.orDie(decodeCall(payload))
      return { message: formatForAgent(started), invocation: { tool, arguments: args } }
    })

    const findEnd = Effect.fnUntraced(function* (started: StartedMessage) {
      const { budgetUnits, envelope, expiresAt } = started
      const { from, to } = envelope
      if (expiresAt !== null && DateTime.lessThanOrEqualTo(expiresAt, yield* DateTime.now))
        return ended("expired", "The message expired before its delivery.")
      if (!isUp(started.agentStatus)) return ended("refused", "The agent is not running.")
      const outcome = yield* turns.answer({
        userId: started.ownerId,
        agentId: to,
        platform: "a2a",
        // One conversation per pair of agents.
        sessionId: ChatSessionId.make(`chs_${getIdSuffix(to)}_${getIdSuffix(from)}`),
        messageId: makeA2aTurnId(started.id),
        unitLimit: budgetUnits ?? undefined,
        ...(yield* describe(started))
      })
      const end = yield* Effect.mapError(findRunEnd(outcome), () => new A2aReceiverBusy())
      if (end.state === "succeeded") return { status: "answered", reply: end.result, reason: null } satisfies End
      return ended(end.state === "failed" ? "failed" : "refused", end.reason ?? "No reason is known.")
    })

    /** Stores the outcome and returns the unused budget. Idempotent. */
    const finish = Effect.fnUntraced(function* (id: A2aMessageId, end: End) {
      const finished = yield* transaction.run(
        Effect.tap(repository.finish(id, end), (ended) =>
          Effect.transposeMapOption(Option.flatten(ended), ({ parentTurn, units }) =>
            budgets.giveBack(parentTurn, units)
          )
        )
      )
      if (Option.isSome(finished))
        yield* Effect.logInfo("Message between agents ended").pipe(
          Effect.annotateLogs({ a2aMessageId: id, status: end.status })
        )
    })

    const deliver = Effect.fn("A2aDelivery.deliver")(function* (id: A2aMessageId, isLastAttempt: boolean) {
      const started = yield* repository.findInProgress(id)
      if (Option.isNone(started)) return
      const { from, mode, to } = started.value.envelope
      yield* Effect.annotateCurrentSpan({ "a2a.from": from, "a2a.to": to, "a2a.mode": mode })
      const end = yield* findEnd(started.value).pipe(
        Effect.catchAllCause((cause) =>
          isLastAttempt && !Cause.isInterrupted(cause)
            ? Effect.succeed(ended("failed", "The agent could not be reached."))
            : Effect.failCause(cause)
        )
      )
      yield* finish(id, end)
    })

    /** Fails messages whose jobs are lost; they would count as in progress forever. */
    const failLost = Effect.fn("A2aDelivery.failLost")(function* () {
      const lost = ended("failed", "The job of the message was lost.")
      yield* Effect.forEach(
        yield* repository.listLost,
        (id) =>
          Effect.catchAllCause(finish(id, lost), (cause) =>
            Effect.logWarning("Lost message between agents not ended", cause).pipe(
              Effect.annotateLogs({ a2aMessageId: id })
            )
          ),
        { discard: true }
      )
    })

    return { deliver, failLost }
  })
}) {}
