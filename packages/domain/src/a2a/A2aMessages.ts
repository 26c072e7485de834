import { DateTime, Effect, Option, Schedule, Schema } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { AgentConfiguration, SkillNotFound } from "../agents/AgentConfiguration.ts"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { AgentNotFound } from "../agents/AgentErrors.ts"
import { Users } from "../accounts/Users.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { SkillCalls } from "../schedules/runs/SkillCalls.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { User } from "../shared/User.ts"
import { isSenderAllowed } from "./A2aAccess.ts"
import {
  A2aMessageConflict,
  A2aMessageInvalid,
  A2aQueueFull,
  A2aSenderNotOwned,
  OfferedSkillNotFound
} from "./A2aErrors.ts"
import { DeliverA2aMessageJob } from "./A2aJobs.ts"
import {
  type A2aEnvelope,
  type A2aMessage,
  A2aMessageId,
  DelegatedCall,
  maximumInProgress,
  maximumPayloadLength
} from "./A2aMessage.ts"
import { A2aRepository } from "./A2aRepository.ts"
import { extendDelegation } from "./Delegation.ts"

const decodeCall = Schema.decodeUnknown(DelegatedCall)

/** Time that a caller waits for a reply; the message goes on after it. */
const replyPoll = Schedule.spaced("200 millis").pipe(Schedule.upTo("20 seconds"))

/** Messages between agents: accepted here, given to their receivers by a job. */
export class A2aMessages extends Effect.Service<A2aMessages>()("@berth/A2aMessages", {
  effect: Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const users = yield* Users
    const skills = yield* SkillCalls
    const configuration = yield* AgentConfiguration
    const repository = yield* A2aRepository
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const ids = yield* IdGenerator

    /** The receiver with its owner. To a sender that it does not allow it does not exist. */
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

    const validateDelegation = Effect.fnUntraced(function* (
      { delegation, from, payload, skill, to }: A2aEnvelope,
      { owner, receiver, skills: offered }: Effect.Effect.Success<ReturnType<typeof findReceiver>>
    ) {
      if (delegation === undefined || skill === undefined)
        return yield* new A2aMessageInvalid({ reason: "`delegate` needs `skill` and `delegation`." })
      yield* extendDelegation(delegation, { from, to })
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
      const { expiresAt, from, mode, payload, to } = envelope
      if (from === to) return yield* invalid("`to` must be another agent than `from`.")
      if (expiresAt !== undefined && DateTime.lessThanOrEqualTo(expiresAt, now))
        return yield* invalid("`expiresAt` is past.")
      if (payload === undefined || JSON.stringify(payload).length > maximumPayloadLength)
        return yield* invalid(`\`payload\` must have at most ${maximumPayloadLength} characters as JSON.`)
      if (mode !== "delegate" && (envelope.skill !== undefined || envelope.delegation !== undefined))
        return yield* invalid("`skill` and `delegation` belong to `delegate`.")
    })

    const findSent = (from: AgentId, messageId: string) =>
      Effect.map(repository.findSent(from, messageId), Option.getOrThrow)

    /**
     * Accepts a message; idempotent by sender and `messageId`. Waits for the reply, except of `notify`; a message that is
     * still `waiting` goes on.
     */
    const send = Effect.fn("A2aMessages.send")(function* (caller: User, to: AgentId, envelope: A2aEnvelope) {
      const { from, messageId, mode } = envelope
      const sender = yield* Effect.mapError(yield* agents.findOwned(caller.id, from), () => new A2aSenderNotOwned())
      if (envelope.to !== to) return yield* new A2aMessageInvalid({ reason: "`to` must be the agent of the path." })
      const found = yield* findReceiver(sender, to)
      // A repeated message is known also after it has expired.
      if (Option.isNone(yield* repository.findSent(from, messageId))) {
        yield* validate(envelope, yield* DateTime.now)
        if (mode === "delegate") yield* validateDelegation(envelope, found)
      }
      const id = A2aMessageId.make(yield* ids.next("a2a"))
      const acceptance = yield* transaction.run(
        Effect.tap(repository.insert(id, envelope, maximumInProgress), (result) =>
          result === "accepted" ? outbox.append(DeliverA2aMessageJob, { id }, found.owner.id) : Effect.void
        )
      )
      if (acceptance === "conflict") return yield* new A2aMessageConflict()
      if (acceptance === "full") return yield* new A2aQueueFull()
      yield* Effect.annotateCurrentSpan({ "a2a.from": from, "a2a.to": to, "a2a.mode": mode })
      if (mode === "notify") return yield* findSent(from, messageId)
      return yield* Effect.repeat(findSent(from, messageId), {
        until: ({ status }: A2aMessage) => status !== "waiting",
        schedule: replyPoll
      }).pipe(Effect.zipRight(findSent(from, messageId)))
    })

    const list = Effect.fn("A2aMessages.list")(
      (agent: Agent, page: { readonly limit: number; readonly offset: number }) => repository.list(agent.id, page)
    )
    const readSettings = Effect.fn("A2aMessages.readSettings")((agent: Agent) => repository.readSettings(agent.id))

    /** Replaces the owners and agents that may write to the agent. Those of its owner always may. */
    const allow = Effect.fn("A2aMessages.allow")(function* (agent: Agent, given: ReadonlyArray<string>) {
      const allow = [...new Set(given)]
      yield* repository.writeSettings(agent.id, { allow })
      return allow
    })

    /** Replaces the offered skills. One that the agent may not use any more is not offered. */
    const offer = Effect.fn("A2aMessages.offer")(function* (owner: User, agent: Agent, given: ReadonlyArray<string>) {
      const known = new Set((yield* configuration.listSkills(owner, agent)).map(({ skill }) => skill.id))
      const skills = [...new Set(given)]
      if (skills.some((id) => !known.has(id))) return yield* new SkillNotFound()
      yield* repository.writeSettings(agent.id, { skills })
      return skills
    })

    return { send, list, readSettings, allow, offer }
  })
}) {}
