import { Effect, Exit, ExecutionStrategy, Option, Scope, Stream } from "effect"
import { CardCalls } from "./calls/CardCalls.ts"
import { MachineCalls } from "./calls/MachineCalls.ts"
import type { OpenedCall } from "./calls/OpenedCall.ts"
import type { Payer } from "./calls/PaymentMethod.ts"
import { countInputShares, limitToPrice } from "./calls/PluginPrices.ts"
import { CallUnpaid } from "./GatewayErrors.ts"
import { GatewaySettings } from "./GatewaySettings.ts"
import { convertUsdToTokenUnits, type PaidRequest } from "./payments/PaidRequest.ts"
import type { PluginInput } from "./PluginInput.ts"
import { collectEnd } from "./plugins/PluginRun.ts"

export interface GatewayCall {
  readonly payer: Payer
  readonly input: PluginInput
  /** The values of `Authorization`. */
  readonly credentials: ReadonlyArray<string>
  /** The request that a machine payment is bound to. */
  readonly request: Pick<PaidRequest, "body" | "route">
  /** Whether deltas are wanted as they arrive. */
  readonly isStreamed: boolean
}

const limitInput = (input: PluginInput): PluginInput =>
  input.plugin === "generate-text" ? { ...input, request: limitToPrice(input.request) } : input

/** Ends what `effect` holds when it fails; else when the caller's scope closes. */
const releaseOnFailure = <A, E, R>(effect: Effect.Effect<A, E, R | Scope.Scope>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
      return yield* Effect.onExit(restore(Scope.extend(effect, scope)), (exit) =>
        Exit.isFailure(exit) ? Scope.close(scope, exit) : Effect.void
      )
    })
  )

/** Ends what `effect` holds once the whole answer is there. */
const collected = <E, R>(effect: Effect.Effect<OpenedCall, E, R | Scope.Scope>) =>
  Effect.scoped(
    Effect.flatMap(effect, (call) =>
      Effect.map(collectEnd(call.events), (end): OpenedCall => ({ ...call, events: Stream.make(end) }))
    )
  )

/** Calls of plugins, paid by card or by a machine. */
export class Gateway extends Effect.Service<Gateway>()("@berth/Gateway", {
  effect: Effect.gen(function* () {
    const cards = yield* CardCalls
    const machines = yield* MachineCalls
    const { prices } = yield* GatewaySettings

    const priceInUsd = (input: PluginInput) => Number((prices[input.plugin] * countInputShares(input)).toFixed(6))

    const toPaidRequest = (input: PluginInput, request: GatewayCall["request"]): PaidRequest => ({
      ...request,
      plugin: input.plugin,
      amount: convertUsdToTokenUnits(priceInUsd(input)),
      description: `One call of ${input.plugin}`
    })

    /** A machine may pay instead, unless the caller named the card: a client that pays would be rejected again for the header. */
    const offerOtherPayment = (input: PluginInput, request: PaidRequest, isCardNamed: boolean) =>
      Effect.flatMap(
        isCardNamed ? Effect.succeedNone : Effect.map(machines.challenge(request), Option.some),
        (challenge) => new CallUnpaid({ priceUsd: priceInUsd(input), reason: "units exhausted", challenge })
      )

    /** Pays for the call and runs its plugin up to the first event, or to its end when it is not streamed. */
    const call = Effect.fn("Gateway.call")(function* ({
      credentials,
      input: given,
      isStreamed,
      payer,
      request
    }: GatewayCall) {
      const input = limitInput(given)
      const paidRequest = toPaidRequest(input, request)
      const opened =
        payer.method === "card"
          ? cards
              .open({ user: payer.user, input, isStreamed })
              .pipe(Effect.catchTag("UnitsExhausted", () => offerOtherPayment(input, paidRequest, payer.isNamed)))
          : machines.call({
              caller: payer.caller,
              input,
              credentials,
              request: paidRequest,
              priceUsd: priceInUsd(input)
            })
      return yield* isStreamed ? releaseOnFailure(opened) : collected(opened)
    })

    return { call }
  })
}) {}
