import type { DateTime } from "effect"
import { Effect, Option } from "effect"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { computeFailedTurnUnits, computeTurnUnits, findCostLimit, messageUnits, TurnSettings } from "./TurnPricing.ts"
import type { AnswerCost } from "../Conversation.ts"
import { noUnits, type Units, UsdMicros } from "../../shared/Money.ts"
import { type TurnRecord, TurnRepository } from "./TurnRepository.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

/** A provider's report can exceed the bound of a call; the limit still applies. */
const limitUnits = (units: Units, { unitLimit }: TurnRecord): Units =>
  unitLimit === undefined || units < unitLimit ? units : unitLimit

/**
 * A call that outlives its turn counts with its upper bound: its answer may still arrive, and its cost is never known.
 */
const boundOpenCalls = (record: TurnRecord): TurnRecord => ({
  ...record,
  costMicros: UsdMicros(record.costMicros + record.heldMicros)
})

/**
 * Ends turns and books their price, which calls can raise above the reservation. Runs in the transaction that stores
 * the outcome of the turn.
 */
export class TurnSettlement extends Effect.Service<TurnSettlement>()("@berth/TurnSettlement", {
  effect: Effect.gen(function* () {
    const turns = yield* TurnRepository
    const ledger = yield* UnitLedger
    const settings = yield* TurnSettings
    /** Price of most turns, whose calls are covered by the unit of the message. */
    const messagePrice = { units: messageUnits, costLimit: findCostLimit(settings, messageUnits) }

    /** Returns the price, even above the balance; none if the turn has already ended. `model`: the answering model. */
    const complete = Effect.fnUntraced(function* (turnId: string, model?: string) {
      const ended = Option.map(yield* turns.end(turnId), boundOpenCalls)
      if (Option.isNone(ended)) return Option.none<AnswerCost>()
      const { costMicros, reservation } = ended.value
      if (Option.isNone(reservation)) return Option.some<AnswerCost>({ units: noUnits, costMicros })
      const units = limitUnits(computeTurnUnits(settings, ended.value), ended.value)
      yield* ledger.settle(reservation.value, units, messageUnits, model)
      return Option.some<AnswerCost>({ units, costMicros })
    }, withExportedSpan("TurnSettlement.complete"))

    /**
     * Returns the record; none if the turn has already ended. A failed turn is settled if it sent a model request.
     * `abandonedAt`: only a turn whose lease has expired. `callsEnded`: the calls ended with their process, which did
     * not record it; an open one costs its prompt.
     */
    const fail = Effect.fn("TurnSettlement.fail")(function* (
      turnId: string,
      { abandonedAt, callsEnded }: { readonly abandonedAt?: DateTime.Utc; readonly callsEnded: boolean }
    ) {
      const found = yield* turns.end(turnId, abandonedAt)
      const ended = callsEnded ? found : Option.map(found, boundOpenCalls)
      const reservation = Option.flatMap(ended, (record) => record.reservation)
      if (Option.isSome(ended) && Option.isSome(reservation)) {
        const units = limitUnits(computeFailedTurnUnits(settings, ended.value), ended.value)
        yield* units === 0 ? ledger.release(reservation.value) : ledger.settle(reservation.value, units, messageUnits)
      }
      return ended
    })

    return { complete, fail, messagePrice }
  })
}) {}
