import { DateTime, type Duration, Effect, Option, Schedule, Schema } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { AgentNotFound } from "../agents/AgentErrors.ts"
import { Users } from "../accounts/Users.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { TurnBudgets } from "../interaction/turns/TurnBudgets.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { SkillCalls } from "../schedules/runs/SkillCalls.ts"
import type { AgentId } from "../shared/AgentId.ts"
import { Units } from "../shared/Money.ts"
import type { User } from "../shared/User.ts"
import { isSenderAllowed } from "./A2aAccess.ts"
import {
  A2aMessageConflict,
  A2aMessageInvalid,
  A2aQueueFull,
  A2aSenderNotOwned,
  DelegationRefused,
  OfferedSkillNotFound
} from "./A2aErrors.ts"
import { makeDeliverA2aMessageJob } from "./A2aJobs.ts"
import {
  type A2aEnvelope,
  type A2aMessage,
  A2aMessageId,
  DelegatedCall,
  makeA2aTurnId,
  makeIdOfTurn,
  maximumInProgress,
  maximumPayloadLength
} from "./A2aMessage.ts"
import { A2aRepository } from "./A2aRepository.ts"
import {
  continueChain,
  defaultBudgetUnits,
  emptyChain,
  extendChain,
  maximumBudgetUnits,
  maximumChainMessages
} from "./Delegation.ts"

const decodeCall = Schema.decodeUnknown(DelegatedCall)

const replyPoll = Schedule.spaced("200 millis")
/** Maximum wait of a caller for a reply; the message continues afterwards. */
const replyWait = "20 seconds"

export type SendingTurn = Parameters<TurnBudgets["share"]>[0]

/** The preceding message and the sending turn, where they are recorded. */
interface A2aOrigin {
  readonly before: Option.Option<A2aMessage>
  readonly turnId: string | null
}

/** A message expires no later than the message that it follows. */
const findExpiry = ({ expiresAt }: A2aEnvelope, ofChain: Option.Option<DateTime.Utc>): DateTime.Utc | null => {
  const [earliest = null] = [...Option.toArray(Option.fromNullable(expiresAt)), ...Option.toArray(ofChain)].toSorted(
    DateTime.Order
  )
  return earliest
}

/** Messages between agents: accepted here, delivered by a job. */
export class A2aMessages extends Effect.Service<A2aMessages>()("@berth/A2aMessages", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const users = yield* Users
    const skills = yield* SkillCalls
    const budgets = yield* TurnBudgets
    const repository = yield* A2aRepository
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const ids = yield* IdGenerator

    /** Returns the receiver with its owner. A receiver that does not allow the sender is not found. */
    const findReceiver = Effect.fnUntraced(function* (sender: Agent, to: AgentId) {
      const receiver = yield* Effect.mapError(yield* agents.find(to), () => new AgentNotFound())
      const { allow, skills } = yield* repository.readSettings(receiver.id)
      const isAllowed = isSenderAllowed(
        { ownerId: receiver.ownerId, allow },
        { ownerId: sender.ownerId, agentIds: [sender.id] }
      )
      const owner = yield* Effect.mapError(users.find(receiver.ownerId), () => new AgentNotFound())
      if (!isAllowed || owner.suspendedAt !== null) return yield* new AgentNotFound()
      return { receiver, owner, skills }
    })

    const validateSkill = Effect.fnUntraced(function* (
      { payload }: A2aEnvelope,
      skill: string,
      { owner, receiver, skills: offered }: Effect.Effect.Success<ReturnType<typeof findReceiver>>
    ) {
      const refused = (reason: string) => new OfferedSkillNotFound({ reason })
      if (!offered.includes(skill)) return yield* refused("`skill`: the agent does not offer it.")
      const { arguments: args = {}, tool } = yield* Effect.mapError(decodeCall(payload), () =>
        refused("`payload` must be {tool, arguments?} of the skill.")
      )
      yield* skills.validate(owner, receiver, skill, { tool, arguments: args }).pipe(
        Effect.catchTags({
          SkillNotFound: () => refused("`skill`: the agent does not offer it."),
          SkillDisabled: () => refused("`skill`: the agent does not offer it."),
          SkillInputInvalid: ({ reason }) => refused(reason)
        })
      )
    })

    const validate = Effect.fnUntraced(function* (envelope: A2aEnvelope, now: DateTime.Utc) {
      const invalid = (reason: string) => new A2aMessageInvalid({ reason })
      const { delegation, expiresAt, from, mode, payload, skill, to } = envelope
      if (from === to) return yield* invalid("`to` must be another agent than `from`.")
      if (expiresAt !== undefined && DateTime.lessThanOrEqualTo(expiresAt, now))
        return yield* invalid("`expiresAt` is past.")
      if (payload === undefined || JSON.stringify(payload).length > maximumPayloadLength)
        return yield* invalid(`\`payload\` must have at most ${maximumPayloadLength} characters as JSON.`)
      if (mode !== "delegate" && (skill !== undefined || delegation !== undefined))
        return yield* invalid("`skill` and `delegation` belong to `delegate`.")
      if (mode !== "delegate") return
      if (delegation === undefined) return yield* invalid("`delegate` needs `delegation`.")
      if (delegation.budgetUnits < 1 || delegation.budgetUnits > maximumBudgetUnits)
        return yield* new DelegationRefused({
          reason: `\`delegation.budgetUnits\` must be from 1 to ${maximumBudgetUnits}.`
        })
    })

    /** Returns the chain of a new message. Claims of the sender can only shorten the recorded chain. */
    const findChain = Effect.fnUntraced(function* ({ delegation, from, to }: A2aEnvelope, { before }: A2aOrigin) {
      const stated = yield* extendChain(delegation ?? emptyChain, { from, to })
      return Option.isNone(before)
        ? stated
        : yield* extendChain(continueChain(before.value.chain, before.value.envelope.to), { from, to })
    })

    const findSent = (from: AgentId, messageId: string) =>
      Effect.map(repository.findSent(from, messageId), Option.getOrThrow)

    /** Takes the budget of a message from the limit of the turn that sends it. */
    const shareBudget = Effect.fnUntraced(
      function* (id: A2aMessageId, sender: Agent, { delegation }: A2aEnvelope, { turnId }: A2aOrigin) {
        const requested = delegation === undefined ? undefined : Units(delegation.budgetUnits)
        const share =
          turnId === null
            ? Option.fromNullable(requested)
            : yield* budgets.share({ userId: sender.ownerId, agentId: sender.id, turnId }, requested)
        yield* Effect.transposeMapOption(share, (units) => repository.setBudget(id, units))
      },
      Effect.catchTags({
        TurnNotInProgress: () => new DelegationRefused({ reason: "The turn that sends the message has ended." }),
        TurnBudgetExhausted: () =>
          new DelegationRefused({ reason: "The message needs more units than the budget has left." })
      })
    )

    const accept = Effect.fnUntraced(function* (sender: Agent, envelope: A2aEnvelope, origin: A2aOrigin) {
      const { from, messageId, mode, skill, to } = envelope
      yield* Effect.annotateCurrentSpan({ "a2a.from": from, "a2a.to": to, "a2a.mode": mode })
      const receiving = yield* findReceiver(sender, to)
      const earlier = yield* repository.findSent(from, messageId)
      // A repeated message is recognized even after its expiry.
      if (Option.isNone(earlier)) yield* validate(envelope, yield* DateTime.now)
      const chain = Option.isSome(earlier) ? earlier.value.chain : yield* findChain(envelope, origin)
      if (Option.isNone(earlier) && skill !== undefined) yield* validateSkill(envelope, skill, receiving)
      const id = A2aMessageId.make(yield* ids.next("a2a"))
      const chainId = Option.match(origin.before, { onNone: () => id, onSome: (before) => before.chainId })
      const expiresAt = findExpiry(
        envelope,
        Option.flatMap(origin.before, (before) => Option.fromNullable(before.expiresAt))
      )
      const job = makeDeliverA2aMessageJob(chain.depth, envelope.priority ?? "normal")
      const message = { envelope, chain, chainId, expiresAt, parentTurn: origin.turnId }
      const acceptance = yield* transaction.run(
        Effect.tap(repository.insert(id, message, { ...maximumInProgress, chain: maximumChainMessages }), (result) =>
          result === "accepted"
            ? Effect.zipRight(shareBudget(id, sender, envelope, origin), outbox.append(job, { id }, receiving.owner.id))
            : Effect.void
        )
      )
      if (acceptance === "conflict") return yield* new A2aMessageConflict()
      if (acceptance === "full") return yield* new A2aQueueFull()
      if (acceptance === "chain-full")
        return yield* new DelegationRefused({
          reason: `A chain has at most ${maximumChainMessages} messages.`
        })
      return yield* findSent(from, messageId)
    })

    /** Waits at most `atMost` for the outcome; a message that is still `waiting` continues. */
    const awaitOutcome = Effect.fn("A2aMessages.awaitOutcome")(
      ({ envelope: { from, messageId } }: A2aMessage, atMost: Duration.DurationInput) =>
        Effect.repeat(findSent(from, messageId), {
          until: ({ status }: A2aMessage) => status !== "waiting",
          schedule: Schedule.upTo(replyPoll, atMost)
        }).pipe(Effect.zipRight(findSent(from, messageId)))
    )

    /**
     * Accepts a message; idempotent by sender and `messageId`. `byInstance`: authenticated by the sender's instance, so
     * the message follows the one that the sender is answering. Waits for the reply except in mode `notify`.
     */
    const send = Effect.fn("A2aMessages.send")(function* (
      caller: User,
      to: AgentId,
      envelope: A2aEnvelope,
      { byInstance }: { readonly byInstance: boolean }
    ) {
      const sender = yield* Effect.mapError(
        yield* agents.findOwned(caller.id, envelope.from),
        () => new A2aSenderNotOwned()
      )
      if (envelope.to !== to) return yield* new A2aMessageInvalid({ reason: "`to` must be the agent of the path." })
      const before = byInstance ? yield* repository.findAnswered(sender.id) : Option.none()
      const turnId = Option.match(before, { onNone: () => null, onSome: ({ id }) => makeA2aTurnId(id) })
      const message = yield* accept(sender, envelope, { before, turnId })
      return envelope.mode === "notify" ? message : yield* awaitOutcome(message, replyWait)
    })

    /** Accepts a message from a turn in progress. It follows the message of that turn if another agent sent it. */
    const sendInTurn = Effect.fn("A2aMessages.sendInTurn")(function* (
      { agentId, turnId, userId }: SendingTurn,
      draft: Pick<A2aEnvelope, "to" | "mode" | "payload" | "skill" | "priority"> & {
        readonly budgetUnits?: number | undefined
      }
    ) {
      const sender = yield* Effect.mapError(yield* agents.findOwned(userId, agentId), () => new A2aSenderNotOwned())
      const before = Option.filter(
        yield* repository.find(makeIdOfTurn(turnId)),
        ({ envelope, status }) => envelope.to === agentId && status === "waiting"
      )
      const { budgetUnits = defaultBudgetUnits, ...content } = draft
      const chain = Option.match(before, {
        onNone: () => emptyChain,
        onSome: (message) => continueChain(message.chain, agentId)
      })
      const envelope: A2aEnvelope = {
        version: "1.0",
        messageId: yield* ids.next("a2a"),
        timestamp: yield* DateTime.now,
        from: agentId,
        ...content,
        ...(draft.mode === "delegate" ? { delegation: { ...chain, budgetUnits } } : {})
      }
      return yield* accept(sender, envelope, { before, turnId })
    })

    /** Lists the agents that the agent of a turn may message, with their offered skills. */
    const listReachable = Effect.fn("A2aMessages.listReachable")(({ agentId, userId }: SendingTurn) =>
      repository.listReachable(agentId, userId)
    )

    const list = Effect.fn("A2aMessages.list")(
      (agent: Agent, page: { readonly limit: number; readonly offset: number }) => repository.list(agent.id, page)
    )

    return { send, sendInTurn, awaitOutcome, listReachable, list }
  })
}) {}
