import { Data } from "effect"

/** The owner's agent has no such turn in progress. */
export class TurnNotInProgress extends Data.TaggedError("TurnNotInProgress")<object> {}

/** Another model call would exceed the turn's budget, or the owner's units and credits. */
export class TurnBudgetExhausted extends Data.TaggedError("TurnBudgetExhausted")<{
  readonly limit: "budget" | "balance"
}> {}
