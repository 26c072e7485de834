import { Cause, Chunk, DateTime, Effect, Fiber, Option, type Scope, Stream } from "effect"
import type { ReservationId, UnitsExhausted } from "../../billing/units/Reservation.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { IdempotentExecution } from "../../limits/IdempotentExecution.ts"
import type { User } from "../../shared/User.ts"
import { GatewaySettings } from "../GatewaySettings.ts"
import type { PluginInput } from "../PluginInput.ts"
import { Plugins } from "../Plugins.ts"
import {
  type CallEvent,
  collectEnd,
  type OpenedRun,
  type PluginAnswer,
  type PluginError,
  type PluginEvent
} from "../plugins/PluginRun.ts"
import type { CallQuote } from "./CallQuotes.ts"
import type { OpenedGatewayCall } from "./OpenedGatewayCall.ts"
import { computePrice } from "./PluginPrices.ts"

export interface CardCall {
  readonly user: User
  readonly input: PluginInput
  readonly quote: CallQuote
  /** Whether deltas reach the caller before the end. */
  readonly isStreamed: boolean
}

interface Reservation {
  readonly id: ReservationId
  readonly cause: string
}

const stampEnd = (event: PluginEvent, answeredAt: DateTime.Utc): CallEvent =>
  event.type === "done" ? { ...event, answeredAt } : event

const stampEnds = (events: Chunk.Chunk<PluginEvent>) =>
  Effect.map(DateTime.now, (now) => Chunk.map(events, (event) => stampEnd(event, now)))

/**
 * Calls paid with units and credits: reserved up to the quote, settled on usage. A call that fails before it delivered anything
 * and a call by the caller's own keys cost nothing; a caller that leaves pays for the prompt and the output so far.
 */
export class CardCalls extends Effect.Service<CardCalls>()("@berth/CardCalls", {
  scoped: Effect.gen(function* () {
    const ledger = yield* UnitLedger
    const plugins = yield* Plugins
    const executions = yield* IdempotentExecution
    const settings = yield* GatewaySettings
    const scope = yield* Effect.scope

    const countUsedUnits = ({ input, quote }: CardCall, answer: PluginAnswer) => {
      if (answer.ownKey) return 0
      return answer.costUsd === null ? quote.units : computePrice(settings, input.plugin, answer)
    }

    /** Settles a reservation; what was used beyond it is charged as far as the balance covers it. */
    const settle = ({ quote, user }: CardCall, { cause, id }: Reservation, units: number) =>
      Effect.gen(function* () {
        yield* ledger.settle(id, units)
        const excess = units - quote.units
        if (excess <= 0) return
        const reserveExcess = (more: number) => ledger.reserve(user, more, `${cause}:excess`)
        const reserved = yield* reserveExcess(excess).pipe(
          Effect.catchTag("UnitsExhausted", ({ remaining }) =>
            remaining > 0 ? reserveExcess(Math.min(remaining, excess)) : Effect.succeedNone
          ),
          // Another call has taken the rest.
          Effect.catchTag("UnitsExhausted", () => Effect.succeedNone)
        )
        if (Option.isSome(reserved)) yield* ledger.settle(reserved.value, excess)
      })

    /** A run that settles before its `done`, at the latest when the scope closes. */
    const openStream = (call: CardCall, reservation: Reservation) =>
      Effect.gen(function* () {
        const { input, isStreamed, quote, user } = call
        // Hot path: plain variables, since an answer has hundreds of deltas and one fiber at a time passes them on.
        const texts: Array<string> = []
        let isFailed = false
        let isSettled = false

        yield* Effect.addFinalizer(() => {
          if (isSettled) return Effect.void
          const isDelivered = isStreamed && texts.length > 0
          return isFailed && !isDelivered
            ? ledger.release(reservation.id)
            : settle(call, reservation, computePrice(settings, input.plugin, quote.estimateUsage(texts.join(""))))
        })

        const settleAt = (event: PluginEvent | undefined) =>
          event?.type === "done"
            ? Effect.tap(settle(call, reservation, countUsedUnits(call, event)), () => {
                isSettled = true
              })
            : Effect.void
        const noteFailure = (cause: Cause.Cause<unknown>) =>
          Effect.sync(() => {
            isFailed = isFailed || !Cause.isInterruptedOnly(cause)
          })
        const run = yield* Effect.tapErrorCause(plugins.open(input, Option.some(user)), noteFailure)
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

    /** Speech comes in one piece and is charged by its provider in any case: it runs to its end when the caller leaves. */
    const openWhole = (call: CardCall, reservation: Reservation): Effect.Effect<OpenedRun<never>, PluginError> =>
      plugins.open(call.input, Option.some(call.user)).pipe(
        Effect.flatMap(({ events }) => collectEnd(events)),
        Effect.scoped,
        Effect.tap((end) => settle(call, reservation, countUsedUnits(call, end))),
        Effect.onError(() => ledger.release(reservation.id)),
        Effect.interruptible,
        Effect.forkIn(scope),
        Effect.flatMap(Fiber.join),
        Effect.map((end) => ({ opening: Option.none(), events: Stream.make<[PluginEvent]>(end) }))
      )

    const openReserved = (call: CardCall, reservation: Reservation) =>
      call.input.plugin === "tts" || call.input.plugin === "stt"
        ? openWhole(call, reservation)
        : openStream(call, reservation)

    /** Reserves the quote and opens the run. Administrators reserve nothing. Closing the scope ends the run and the reservation. */
    const open = Effect.fn("CardCalls.open")(function* (
      call: CardCall
    ): Effect.fn.Return<OpenedGatewayCall, PluginError | UnitsExhausted, Scope.Scope> {
      const { input, quote, user } = call
      // The same for every repetition of a request with an idempotency key, so that it reserves once.
      const cause = `gateway:${yield* executions.reference}`
      const run: OpenedRun<PluginError> = quote.ownKey
        ? yield* plugins.open(input, Option.some(user), { ownKeysOnly: true })
        : yield* Effect.uninterruptibleMask((restore) =>
            Effect.flatMap(ledger.reserve(user, quote.units, cause), (reserved) =>
              restore(
                Option.match(reserved, {
                  onNone: () => plugins.open(input, Option.some(user)),
                  onSome: (id) => openReserved(call, { id, cause })
                })
              )
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
