import { Cause, Chunk, DateTime, Effect, Option, type Scope, Stream } from "effect"
import { type ReservationId, UnitLedger, type UnitsExhausted } from "../../billing/units/UnitLedger.ts"
import { IdempotentExecution } from "../../limits/IdempotentExecution.ts"
import type { User } from "../../shared/User.ts"
import { GatewaySettings } from "../GatewaySettings.ts"
import type { PluginInput } from "../PluginInput.ts"
import { Plugins } from "../Plugins.ts"
import type { CallEvent, OpenedRun, PluginAnswer, PluginError, PluginEvent } from "../plugins/PluginRun.ts"
import type { OpenedCall } from "./OpenedCall.ts"
import { convertPriceToUnits, countInputShares, countPriceShares, estimateTokensSoFar } from "./PluginPrices.ts"

export interface CardCall {
  readonly user: User
  readonly input: PluginInput
  /** Whether deltas reach the caller before the end. */
  readonly isStreamed: boolean
}

const stampEnd = (event: PluginEvent, answeredAt: DateTime.Utc): CallEvent =>
  event.type === "done" ? { ...event, answeredAt } : event

const stampEnds = (events: Chunk.Chunk<PluginEvent>) =>
  Effect.map(DateTime.now, (now) => Chunk.map(events, (event) => stampEnd(event, now)))

/**
 * Calls paid with units and credits: reserved before the run, settled on usage. A failed call and a call by the caller's own
 * keys cost nothing.
 */
export class CardCalls extends Effect.Service<CardCalls>()("@berth/CardCalls", {
  effect: Effect.gen(function* () {
    const ledger = yield* UnitLedger
    const plugins = yield* Plugins
    const executions = yield* IdempotentExecution
    const { prices } = yield* GatewaySettings

    const toUnits = (input: PluginInput, shares: number) => shares * convertPriceToUnits(prices[input.plugin])

    const countUsedUnits = (input: PluginInput, answer: Pick<PluginAnswer, "tokens" | "ownKey">) => {
      if (answer.ownKey) return 0
      const isPricedByTokens = input.plugin === "generate-text" && answer.tokens !== null
      return toUnits(input, isPricedByTokens ? countPriceShares(answer.tokens) : 1)
    }

    /** A run whose units are reserved. It settles before its `done`, at the latest when the scope closes. */
    const openReserved = ({ input, isStreamed, user }: CardCall, reservation: ReservationId) =>
      Effect.gen(function* () {
        // Hot path: plain variables, since an answer has hundreds of deltas and one fiber at a time passes them on.
        const texts: Array<string> = []
        let ownKey = false
        let isFailed = false
        let isSettled = false

        // An interrupted stream is charged for what its caller received.
        yield* Effect.addFinalizer(() => {
          if (isSettled) return Effect.void
          if (isFailed || !isStreamed || texts.length === 0) return ledger.release(reservation)
          const tokens = input.plugin === "generate-text" ? estimateTokensSoFar(input.request, texts.join("")) : null
          return ledger.settle(reservation, countUsedUnits(input, { ownKey, tokens }))
        })

        const settleAt = (event: PluginEvent | undefined) =>
          event?.type === "done"
            ? Effect.tap(ledger.settle(reservation, countUsedUnits(input, event)), () => {
                isSettled = true
              })
            : Effect.void
        const noteFailure = (cause: Cause.Cause<unknown>) =>
          Effect.sync(() => {
            isFailed = isFailed || !Cause.isInterruptedOnly(cause)
          })
        const run = yield* Effect.tapErrorCause(plugins.open(input, Option.some(user)), noteFailure)
        ownKey = Option.exists(run.opening, (opening) => opening.ownKey)
        return {
          opening: run.opening,
          events: run.events.pipe(
            Stream.mapChunksEffect((events) => {
              for (const event of events) if (event.type === "delta") texts.push(event.text)
              return Effect.as(settleAt(Option.getOrUndefined(Chunk.last(events))), events)
            }),
            Stream.tapErrorCause(noteFailure)
          )
        } satisfies OpenedRun<PluginError>
      })

    /** Without units left, the caller's own keys may still answer. */
    const openByOwnKeys = ({ input, user }: CardCall, exhausted: UnitsExhausted) =>
      input.plugin === "generate-text"
        ? Effect.mapError(plugins.open(input, Option.some(user), { ownKeysOnly: true }), (error) =>
            error._tag === "PluginFailed" && error.isUnavailable === true ? exhausted : error
          )
        : Effect.fail(exhausted)

    /** Reserves the price and opens the run. Administrators reserve nothing. Closing the scope ends the run and the reservation. */
    const open = Effect.fn("CardCalls.open")(function* (
      call: CardCall
    ): Effect.fn.Return<OpenedCall, PluginError | UnitsExhausted, Scope.Scope> {
      const { input, user } = call
      // The same for every repetition of a request with an idempotency key, so that it reserves once.
      const cause = `gateway:${yield* executions.reference}`
      const run = yield* Effect.uninterruptibleMask((restore) =>
        ledger.reserve(user, toUnits(input, countInputShares(input)), cause).pipe(
          Effect.flatMap(
            Option.match({
              onNone: () => restore(plugins.open(input, Option.some(user))),
              onSome: (reservation) => restore(openReserved(call, reservation))
            })
          ),
          Effect.catchTag("UnitsExhausted", (exhausted) => restore(openByOwnKeys(call, exhausted)))
        )
      )
      return {
        opening: run.opening,
        events: Stream.mapChunksEffect(run.events, stampEnds),
        receipt: Option.none(),
        isReplayed: false
      }
    })

    return { open }
  })
}) {}
