import { Cause, Chunk, Effect, Option, type Scope, Stream } from "effect"
import type { User } from "../../shared/User.ts"
import type { ChatOpening } from "../../ai/calls/ChatRequest.ts"
import { UnitLedger, type ReservationId, type UnitsExhausted } from "../../billing/units/UnitLedger.ts"
import type { PluginInput } from "../PluginInput.ts"
import {
  PluginPrices,
  countPriceShares,
  countInputShares,
  estimateTokensSoFar,
  convertPriceToUnits
} from "./PluginPrices.ts"
import type { PluginAnswer, PluginError, PluginEvent } from "../plugins/PluginRun.ts"
import { Plugins } from "../Plugins.ts"

export interface CardCall {
  readonly user: User
  readonly input: PluginInput
  /** Names the call, the same in each of its repetitions: the same cause reserves once. */
  readonly cause: string
  /** Whether each piece goes out as it comes; else nothing does before the end. */
  readonly streamed: boolean
  /** Done as soon as it is known which model answers, where one does. */
  readonly opened: (opening: ChatOpening) => Effect.Effect<void>
}

export type MeteredRun = Stream.Stream<PluginEvent, PluginError | UnitsExhausted>

/**
 * Calls that people pay for with their units and credits: reserved before anything is done, settled on what was used. What
 * fails costs nothing, and neither does what goes by somebody's own keys.
 */
export class CardCalls extends Effect.Service<CardCalls>()("@berth/CardCalls", {
  effect: Effect.gen(function* () {
    const charging = yield* UnitLedger
    const plugins = yield* Plugins
    const prices = yield* PluginPrices

    const unitsOf = (input: PluginInput, times: number) => times * convertPriceToUnits(prices[input.plugin])

    /** At most what was reserved is booked, whatever this says. */
    const unitsUsed = (input: PluginInput, answer: Pick<PluginAnswer, "tokens" | "ownKey">) => {
      if (answer.ownKey) return 0
      return unitsOf(
        input,
        input.plugin === "generate-text" && answer.tokens !== null ? countPriceShares(answer.tokens) : 1
      )
    }

    /** The run of a call for which units are held: it settles before its `done`. */
    const charged = (call: CardCall, reservation: ReservationId) =>
      Effect.gen(function* () {
        const { input, opened, streamed, user } = call
        // Plain variables: an answer has hundreds of pieces, and one fiber at a time hands them on.
        const texts: Array<string> = []
        let ownKey = false
        let isFailed = false
        let isSettled = false

        // Who leaves in mid-stream has used what he was given; what fails, or has not begun, costs nothing.
        yield* Effect.addFinalizer(() => {
          if (isSettled) return Effect.void
          if (isFailed || !streamed || texts.length === 0) return charging.release(reservation)
          const tokens = input.plugin === "generate-text" ? estimateTokensSoFar(input.request, texts.join("")) : null
          return charging.settle(reservation, unitsUsed(input, { ownKey, tokens }))
        })

        const settleAt = (event: PluginEvent | undefined) =>
          event?.type === "done"
            ? Effect.tap(charging.settle(reservation, unitsUsed(input, event)), () => {
                isSettled = true
              })
            : Effect.void
        return plugins
          .run(input, Option.some(user), {
            opened: (opening) =>
              Effect.suspend(() => {
                ownKey = opening.ownKey
                return opened(opening)
              })
          })
          .pipe(
            Stream.mapChunksEffect((events) => {
              for (const event of events) if (event.type === "delta") texts.push(event.text)
              return Effect.as(settleAt(Option.getOrUndefined(Chunk.last(events))), events)
            }),
            Stream.tapErrorCause((cause) =>
              Effect.sync(() => {
                isFailed = isFailed || !Cause.isInterruptedOnly(cause)
              })
            )
          )
      })

    /** Whoever has nothing left may still have keys of his own, which cost nothing here. */
    const byOwnKeys = ({ input, opened, user }: CardCall, exhausted: UnitsExhausted): MeteredRun =>
      input.plugin === "generate-text"
        ? plugins
            .run(input, Option.some(user), { ownKeysOnly: true, opened })
            .pipe(
              Stream.mapError((error) =>
                "nobodyWasAsked" in error && error.nobodyWasAsked === true ? exhausted : error
              )
            )
        : Stream.fail(exhausted)

    /**
     * Reserves what the call may cost. Whatever is not settled when the scope closes is put in order then. Administrators reserve
     * nothing.
     */
    const start = Effect.fn("CardCalls.start")(function* (
      call: CardCall
    ): Effect.fn.Return<MeteredRun, never, Scope.Scope> {
      const { cause, input, opened, user } = call
      return yield* Effect.uninterruptible(
        Effect.gen(function* () {
          const units = unitsOf(input, countInputShares(input))
          const reservation = yield* charging.reserve(user, units, cause)
          return Option.isSome(reservation)
            ? yield* charged(call, reservation.value)
            : plugins.run(input, Option.some(user), { opened })
        })
      ).pipe(Effect.catchTag("UnitsExhausted", (exhausted) => Effect.succeed(byOwnKeys(call, exhausted))))
    })

    return { start }
  })
}) {}
