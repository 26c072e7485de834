import { Data } from "effect"

/** No such turn of this owner and agent is in progress. */
export class TurnNotInProgress extends Data.TaggedError("TurnNotInProgress")<object> {}

/** Another model call would exceed the turn's budget, or the owner's units and credits. */
export class TurnBudgetExhausted extends Data.TaggedError("TurnBudgetExhausted")<{
  readonly limit: "budget" | "balance"
}> {}
