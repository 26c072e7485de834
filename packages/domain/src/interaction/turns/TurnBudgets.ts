import { Effect, Option } from "effect"
import type { Units } from "../../shared/Money.ts"
import { TurnBudgetExhausted, TurnNotInProgress } from "./TurnErrors.ts"
import { shareLimit, TurnSettings } from "./TurnPricing.ts"
import { type AgentTurn, TurnRepository } from "./TurnRepository.ts"

/** Parts of a turn's limit for work that it starts elsewhere. */
export class TurnBudgets extends Effect.Service<TurnBudgets>()("@berth/TurnBudgets", {
  effect: Effect.gen(function* () {
    const turns = yield* TurnRepository
    const settings = yield* TurnSettings

    /**
     * Takes units off the limit, by default half of what is left, and returns them. A turn without a limit grants what is
     * wanted. Joins the running transaction, which holds the turn: concurrent shares never exceed the limit.
     */
    const share = Effect.fn("TurnBudgets.share")(function* (turn: AgentTurn, wanted: Units | undefined) {
      const record = yield* Effect.mapError(yield* turns.lock(turn), () => new TurnNotInProgress())
      if (record.unitLimit === undefined) return Option.fromNullable(wanted)
      const units = yield* Effect.mapError(
        shareLimit(settings, record, record.unitLimit, wanted),
        () => new TurnBudgetExhausted({ limit: "budget" })
      )
      yield* turns.raiseLimit(turn.turnId, 0 - units)
      return Option.some(units)
    })

    /** Returns what the other work has not used. Without effect when the turn has ended. Joins the running transaction. */
    const giveBack = Effect.fn("TurnBudgets.giveBack")(function* (turnId: string, units: Units) {
      if (units > 0) yield* turns.raiseLimit(turnId, units)
    })

    return { share, giveBack }
  })
}) {}
