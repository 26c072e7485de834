import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import type { Units } from "../shared/Money.ts"
import type {
  A2aEnvelope,
  A2aLink,
  A2aMessage,
  A2aMessageId,
  A2aSettings,
  A2aStatus,
  StartedMessage
} from "./A2aMessage.ts"

export type A2aAcceptance = "accepted" | "known" | "conflict" | "full" | "chain-full"

interface A2aLimits {
  readonly sender: number
  readonly receiver: number
  readonly chain: number
}

interface ReachableAgent {
  readonly id: AgentId
  readonly name: string
  readonly isOwn: boolean
  readonly skills: ReadonlyArray<string>
}

/** Unused budget of a message, returned to the turn that sent it. */
interface BudgetRest {
  readonly parentTurn: string
  readonly units: Units
}

export class A2aRepository extends Context.Tag("@berth/A2aRepository")<
  A2aRepository,
  {
    readonly readSettings: (agentId: AgentId) => Effect.Effect<A2aSettings>
    /** Absent members remain unchanged. */
    readonly writeSettings: (agentId: AgentId, changes: Partial<A2aSettings>) => Effect.Effect<void>
    /** Removes the allow lists and the offered skills of the owner's agents. */
    readonly removeSettings: (ownerId: UserId) => Effect.Effect<void>
    /**
     * Agents of the owner, then agents that allow the agent or its owner, each group by name. Excludes the agent
     * itself.
     */
    readonly listReachable: (agentId: AgentId, ownerId: UserId) => Effect.Effect<ReadonlyArray<ReachableAgent>>
    /**
     * Stores a message under the sender's id. `known`: an equal message is stored. `full`: a limit of messages in
     * progress is reached; exact under concurrent messages of a sender. `chain-full`: the limit of the chain. Joins the
     * running transaction.
     */
    readonly insert: (
      id: A2aMessageId,
      message: Omit<A2aLink, "budgetUnits"> & { readonly envelope: A2aEnvelope },
      limits: A2aLimits
    ) => Effect.Effect<A2aAcceptance>
    /** Joins the transaction that stored the message. */
    readonly setBudget: (id: A2aMessageId, units: Units) => Effect.Effect<void>
    readonly find: (id: A2aMessageId) => Effect.Effect<Option.Option<A2aMessage>>
    /** The message with the longest chain among those that the agent is answering. */
    readonly findAnswered: (agentId: AgentId) => Effect.Effect<Option.Option<A2aMessage>>
    readonly findSent: (from: AgentId, messageId: string) => Effect.Effect<Option.Option<A2aMessage>>
    /** Messages to and from the agent, newest first. */
    readonly list: (
      agentId: AgentId,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly messages: ReadonlyArray<A2aMessage>; readonly total: number }>
    /** None for an ended or deleted message. */
    readonly findInProgress: (id: A2aMessageId) => Effect.Effect<Option.Option<StartedMessage>>
    /** Stores the outcome and its cost; none if an outcome is stored. Joins the running transaction. */
    readonly finish: (
      id: A2aMessageId,
      end: {
        readonly status: Exclude<A2aStatus, "waiting">
        readonly reply: string | null
        readonly reason: string | null
      }
    ) => Effect.Effect<Option.Option<Option.Option<BudgetRest>>>
    /** Messages in progress that are older than any job, oldest first. */
    readonly listLost: Effect.Effect<ReadonlyArray<A2aMessageId>>
    /** Deletes messages that ended before `before`; returns their number. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
