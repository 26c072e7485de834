import { Context, type Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

/** A turn of an agent for its owner, by the id that its cell was given: a message's, or a task's that no message stands for. */
export interface AgentTurn {
  readonly userId: UserId
  readonly agentId: AgentId
  readonly turnId: string
}

/**
 * By whose keys the model calls of turns went, as the backend saw it when it made them: a turn whose calls all went by its
 * owner's own keys costs him nothing. Which turn a call is for is known from the cell alone, and a cell may lie. So a call by
 * the owner's key counts for the turn it names, while one that the platform pays counts against every turn of the agent that
 * is in work, and against every turn of the owner where that agent has none. So whatever a cell says, such a call takes its
 * price from at least one turn that was in work when it was made, and one turn's price is all that a turn's calls cost.
 */
export class TurnKeys extends Context.Tag("@berth/TurnKeys")<
  TurnKeys,
  {
    /** Notes a call; to be done before anything of its answer is given to the cell. */
    readonly recordCall: (call: AgentTurn & { readonly ownKey: boolean }) => Effect.Effect<void>
    /** A task is in work from now on. A message is so while it is pending, and is judged when its answer is stored. */
    readonly begin: (task: AgentTurn) => Effect.Effect<void>
    /** It is not in work any more. Whether models were called for it, all of them by the owner's own keys. */
    readonly end: (task: AgentTurn) => Effect.Effect<boolean>
  }
>() {}
