import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { ChannelConnection, ChannelHealth, ChannelKey, ChannelSecrets } from "./ChannelConnection.ts"

export interface ChannelLease {
  readonly claimId: string
  readonly cursor: string | null
}

/** Stores connections. Secrets are sealed in their rows. */
export class ChannelConnections extends Context.Tag("@berth/ChannelConnections")<
  ChannelConnections,
  {
    /** Inserts or replaces the secrets, with the next revision and state `pending`. Joins the running transaction. */
    readonly save: (
      key: ChannelKey,
      values: { readonly secrets: ChannelSecrets; readonly answersBots: boolean }
    ) => Effect.Effect<void>
    readonly setAnswersBots: (key: ChannelKey, answersBots: boolean) => Effect.Effect<void>
    readonly find: (key: ChannelKey) => Effect.Effect<Option.Option<ChannelConnection>>
    readonly findWithSecrets: (
      key: ChannelKey
    ) => Effect.Effect<Option.Option<{ readonly connection: ChannelConnection; readonly secrets: ChannelSecrets }>>
    readonly list: (agentId: AgentId) => Effect.Effect<ReadonlyArray<ChannelConnection>>
    readonly readSecrets: (key: ChannelKey) => Effect.Effect<Option.Option<ChannelSecrets>>
    /** False if the connection is deleted or has another revision. */
    readonly recordHealth: (key: ChannelKey, revision: number, health: ChannelHealth) => Effect.Effect<boolean>
    /**
     * Marks the connections of other agents to the same bot as refused, and returns them. The latest connection of a
     * bot wins.
     */
    readonly refuseOthers: (
      key: ChannelKey,
      botId: string,
      reason: string
    ) => Effect.Effect<ReadonlyArray<Pick<ChannelConnection, "agentId" | "platform" | "ownerId">>>
    readonly remove: (key: ChannelKey) => Effect.Effect<boolean>
    /** Connections to check: new or unreachable ones last checked before `retry`, others before `renew`. */
    readonly listDue: (
      before: { readonly retry: DateTime.Utc; readonly renew: DateTime.Utc },
      limit: number
    ) => Effect.Effect<ReadonlyArray<Pick<ChannelConnection, "agentId" | "platform" | "ownerId">>>
    /**
     * Connected, selected connections of running agents without a reader. Fair order: each owner's first, then each
     * owner's second, and so on.
     */
    readonly listUnread: (limit: number) => Effect.Effect<ReadonlyArray<ChannelConnection>>
    /** Claims the reader's lease; none if another worker holds it. */
    readonly claimReader: (key: ChannelKey) => Effect.Effect<Option.Option<ChannelLease>>
    /** Extends the lease; false if it is lost or the connection must not be read any more. */
    readonly renewReader: (key: ChannelKey, claimId: string) => Effect.Effect<boolean>
    /**
     * Stores the cursor; false if the lease is lost or the connection must not be read any more. Joins the running
     * transaction.
     */
    readonly moveCursor: (key: ChannelKey, claimId: string, cursor: string | null) => Effect.Effect<boolean>
    readonly releaseReader: (key: ChannelKey, claimId: string) => Effect.Effect<void>
  }
>() {}
