import { Effect, Option } from "effect"
import type { Units } from "../../shared/Money.ts"
import { TurnBudgetExhausted, TurnNotInProgress } from "./TurnErrors.ts"
import { shareLimit, TurnSettings } from "./TurnPricing.ts"
import { type AgentTurn, TurnRepository } from "./TurnRepository.ts"

/** Shares of a turn's limit for work started elsewhere. */
export class TurnBudgets extends Effect.Service<TurnBudgets>()("@berth/TurnBudgets", {
  effect: Effect.gen(function* () {
    const turns = yield* TurnRepository
    const settings = yield* TurnSettings

    /**
     * Deducts units from the limit, by default half of the remainder, and returns them. A turn without a limit grants
     * `wanted`. Joins the running transaction, which locks the turn, so concurrent shares never exceed the limit.
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

    /** Returns unused units of the other work. No effect if the turn has ended. Joins the running transaction. */
    const giveBack = Effect.fn("TurnBudgets.giveBack")(function* (turnId: string, units: Units) {
      if (units > 0) yield* turns.raiseLimit(turnId, units)
    })

    return { share, giveBack }
  })
}) {}
