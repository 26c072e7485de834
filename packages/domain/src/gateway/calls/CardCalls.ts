import { Cause, Effect, Fiber, Option, Ref, Scope } from "effect"
import { makeTokenCounter } from "../../ai/prompt/TokenEstimate.ts"
import { readerFromValues } from "../../ai/streams/ChunkReader.ts"
import type { ModelDelta } from "../../ai/streams/ModelEvent.ts"
import type { BudgetExceeded } from "../../billing/budgets/Budget.ts"
import type { ReservationId, UnitsExhausted } from "../../billing/units/Reservation.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { IdempotentExecution, RequestCharge } from "../../limits/IdempotentExecution.ts"
import { currentTime, useService } from "../../shared/HotPath.ts"
import { noUnits, type Units } from "../../shared/Money.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"
import type { User } from "../../shared/User.ts"
import { GatewaySettings } from "../GatewaySettings.ts"
import type { PluginInput } from "../PluginInput.ts"
import { Plugins } from "../Plugins.ts"
import { collectResult, mapEnd, type OpenedRun, type PluginError, type PluginResult } from "../plugins/PluginRun.ts"
import type { CallQuote } from "./CallQuotes.ts"
import type { CallResult, OpenedGatewayCall } from "./OpenedGatewayCall.ts"
import { TurnSettings } from "../../interaction/turns/TurnPricing.ts"
import { computePrice, computeTaskPrice, convertPriceToUnits } from "./PluginPrices.ts"

interface CardCall {
  readonly user: User
  readonly input: PluginInput
  readonly quote: CallQuote
  /** Whether deltas are sent before the end. */
  readonly isStreamed: boolean
}

const addTime = (result: PluginResult): Effect.Effect<CallResult> =>
  Effect.map(currentTime, (answeredAt) => ({ answeredAt, ...result }))

/**
 * Calls paid with units and credits: reserved up to the quote, settled by usage. A call is free if it fails before any
 * delivery or uses the caller's own keys. A caller that disconnects pays for the prompt and the output so far.
 */
export class CardCalls extends Effect.Service<CardCalls>()("@berth/CardCalls", {
  scoped: Effect.gen(function* () {
    const ledger = yield* UnitLedger
    const plugins = yield* Plugins
    const executions = yield* IdempotentExecution
    const settings = yield* GatewaySettings
    const turnSettings = yield* TurnSettings
    const scope = yield* Effect.scope

    const countUsedUnits = ({ input, quote }: CardCall, result: PluginResult) => {
      if (result.ownKey) return noUnits
      if (result.costUsd === null) return quote.units
      return input.plugin === "agent"
        ? computeTaskPrice(settings, turnSettings, result.costUsd)
        : computePrice(settings, input.plugin, result)
    }

    const settle = ({ quote }: CardCall, id: ReservationId, units: Units, model: string | undefined) =>
      ledger.settle(id, units, quote.units, model)

    const countOpenUnits = ({ input, quote }: CardCall, spentUsd: number, outputTokens: number) =>
      input.plugin === "agent"
        ? computeTaskPrice(settings, turnSettings, spentUsd)
        : computePrice(settings, input.plugin, quote.estimateUsage(outputTokens))

    /** Settles a run without an end. Before any output, only the model calls of a task are charged. */
    const settleOpenEnd = (
      call: CardCall,
      id: ReservationId,
      spentUsd: number,
      outputTokens: number,
      isFree: boolean,
      model: string | undefined
    ) => {
      const freeUnits = spentUsd === 0 ? noUnits : convertPriceToUnits(spentUsd * settings.priceMargin)
      return ledger.close(
        id,
        isFree ? freeUnits : countOpenUnits(call, spentUsd, outputTokens),
        call.quote.units,
        model
      )
    }

    /** A run that settles before its `done`, at the latest when the scope closes. */
    const openStream = Effect.fnUntraced(function* (call: CardCall, id: ReservationId) {
      const { input, isStreamed, user } = call
      const recordCharge = yield* useService(RequestCharge, Effect.succeed)
      const spentUsd = Ref.unsafeMake(0)
      // Hot path: plain variables, since an answer has hundreds of deltas, forwarded by a single fiber.
      const output = makeTokenCounter()
      let hasOutput = false
      let model: string | undefined = undefined
      let isFailed = false
      let isSettled = false

      // Added before the run is opened, so that it executes after the run has ended with its final cost.
      const finish = Effect.suspend(() => {
        if (isSettled) return Effect.void
        const isDelivered = isStreamed && hasOutput
        return Effect.flatMap(Ref.get(spentUsd), (spent) =>
          settleOpenEnd(call, id, spent, output.count(), isFailed && !isDelivered, model)
        )
      })
      // `Effect.addFinalizer` captures the fiber's state, which costs more than the finalizer.
      yield* useService(Scope.Scope, (scope) => Scope.addFinalizer(scope, finish))

      if (isStreamed)
        yield* ledger.meter(
          id,
          Effect.map(Ref.get(spentUsd), (spent) =>
            !hasOutput || isSettled ? noUnits : countOpenUnits(call, spent, output.count())
          )
        )

      const settleAt = (event: ModelDelta | PluginResult | undefined) =>
        event?.type === "done"
          ? Effect.map(
              Effect.zipRight(
                recordCharge,
                settle(call, id, countUsedUnits(call, event), event.answeredBy?.model ?? model)
              ),
              () => {
                isSettled = true
              }
            )
          : Effect.void
      const noteFailure = (cause: Cause.Cause<unknown>) =>
        Effect.sync(() => {
          isFailed = isFailed || !Cause.isInterruptedOnly(cause)
        })
      const funding = { reservation: Option.some(id), spentUsd }
      const run = yield* Effect.tapErrorCause(plugins.open(input, Option.some(user), funding), noteFailure)
      model = Option.getOrUndefined(run.opening)?.model
      return {
        opening: run.opening,
        events: run.events.pipe(
          Effect.tap((events) => {
            for (const event of events ?? [])
              if (event.type === "delta") {
                hasOutput = true
                output.add(event.text)
              }
            return settleAt(events?.at(-1))
          }),
          Effect.tapErrorCause(noteFailure)
        )
      } satisfies OpenedRun<PluginError>
    })

    /**
     * Speech arrives at once, and its provider charges in any case, so the run continues after the caller disconnects.
     */
    const openWhole = (call: CardCall, id: ReservationId): Effect.Effect<OpenedRun<never>, PluginError> =>
      plugins.open(call.input, Option.some(call.user)).pipe(
        Effect.flatMap(({ events }) => collectResult(events)),
        Effect.scoped,
        Effect.tap(Effect.flatten(RequestCharge)),
        Effect.tap((result) => settle(call, id, countUsedUnits(call, result), result.answeredBy?.model)),
        Effect.onError(() => ledger.close(id, noUnits)),
        Effect.interruptible,
        Effect.forkIn(scope),
        Effect.flatMap(Fiber.join),
        Effect.map((result) => ({ opening: Option.none(), events: readerFromValues([result]) }))
      )

    const openReserved = (call: CardCall, id: ReservationId) =>
      call.input.plugin === "tts" || call.input.plugin === "stt" ? openWhole(call, id) : openStream(call, id)

    /**
     * Reserves the quote and opens the run. Administrators reserve nothing. Closing the scope ends the run and its
     * reservation.
     */
    const open = Effect.fnUntraced(function* (
      call: CardCall
    ): Effect.fn.Return<OpenedGatewayCall, PluginError | UnitsExhausted | BudgetExceeded, Scope.Scope> {
      const { input, quote, user } = call
      // Constant for all repetitions of a request with an idempotency key, so that it reserves once.
      const cause = `gateway:${yield* executions.reference}`
      const run: OpenedRun<PluginError> = quote.ownKey
        ? yield* plugins.open(input, Option.some(user), { ownKeysOnly: true })
        : yield* Effect.uninterruptibleMask((restore) =>
            Effect.flatMap(
              ledger.reserve(user, quote.units, cause, input.plugin === "agent" ? input.agentId : undefined),
              (reserved) =>
                restore(
                  Option.match(reserved, {
                    onNone: () => plugins.open(input, Option.some(user)),
                    onSome: (id) => openReserved(call, id)
                  })
                )
            )
          )
      return {
        opening: run.opening,
        events: mapEnd(addTime)(run.events),
        receipt: Option.none(),
        isReplayed: false
      }
    }, withExportedSpan("CardCalls.open"))

    return { open }
  })
}) {}
