import { Context, type Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

/** A turn in progress; `turnId` is a message id or a task id. */
export interface AgentTurn {
  readonly userId: UserId
  readonly agentId: AgentId
  readonly turnId: string
}

/**
 * Whether the owner's own keys paid for all model calls of a turn. Runtimes name the turn and are untrusted: a
 * call on a platform key counts against every turn of the agent in progress, else of the owner.
 */
export class TurnKeys extends Context.Tag("@berth/TurnKeys")<
  TurnKeys,
  {
    /** Precedes handing any output of the call to the runtime. */
    readonly recordCall: (call: AgentTurn & { readonly ownKey: boolean }) => Effect.Effect<void>
    /** Marks a task in progress. A message is in progress while it is pending. */
    readonly begin: (task: AgentTurn) => Effect.Effect<void>
    /** Ends a task; returns whether models were called, all of them by own keys. */
    readonly end: (task: AgentTurn) => Effect.Effect<boolean>
  }
>() {}
