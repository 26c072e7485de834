import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { GatewayAnswer, gatewayPath } from "@berth/api/gateway/GatewayApi"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { ChallengeBody } from "@berth/api/gateway/payments/ChallengeMessage"
import { Deferred, Effect, Schema, Stream } from "effect"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { interfaceCredential } from "../support/payments/PaymentFixtures.ts"
import * as App from "../support/TestApp.ts"

/* Gateway calls and their machine payments. */

export const helloRequest = { messages: [{ role: "user", content: "hello" }], max_tokens: 100 }
export const machinePaymentHeaders = { "x-payment-method": "mpp" }

export const gatewayCall = (call: Partial<App.AppCall> = {}) =>
  App.web({ method: "POST", path: gatewayPath, ...(call.body === undefined ? { json: helloRequest } : {}), ...call })

export const decodeGatewayAnswer = ({ text }: HttpCallResponse) =>
  Effect.orDie(Schema.decode(Schema.parseJson(GatewayAnswer))(text))

/** The challenge of a call, as parsed by a client of the interface. */
export const requestChallenge = (call: Partial<App.AppCall> = {}) =>
  Effect.gen(function* () {
    const requested = yield* gatewayCall({ ...call, headers: { ...machinePaymentHeaders, ...call.headers } })
    return (yield* Effect.orDie(Schema.decode(Schema.parseJson(ChallengeBody))(requested.text))).mpp
  })

/** A credential that pays the terms: the interface's own, with a signed transaction that was not sent. */
export const payChallenge = (terms: { readonly nonce: string; readonly recipient: string; readonly amount: string }) =>
  Effect.gen(function* () {
    const { paymentNetwork } = yield* App.TestApp
    const raw = yield* paymentNetwork.sign([{ to: terms.recipient, amount: BigInt(terms.amount) }])
    return {
      raw,
      hash: paymentNetwork.hashOf(raw),
      authorization: interfaceCredential({ id: terms.nonce }, raw).join("")
    }
  })

/** The same for a call that has not been made yet. */
export const payForCall = (call: Partial<App.AppCall> = {}) => Effect.flatMap(requestChallenge(call), payChallenge)

export const readUsedUnits = ({ user }: App.SignedIn) =>
  Effect.flatMap(UnitLedger, (charging) => Effect.map(charging.findUsage(user), ({ used }) => used))

export const textAnswer = (text: string, totalTokens = 10): Stream.Stream<ModelEvent<ProviderEnding>> =>
  Stream.make(
    { type: "delta" as const, text },
    {
      type: "done" as const,
      usage: { promptTokens: totalTokens - 1, completionTokens: 1, totalTokens },
      finishReason: "stop"
    }
  )

/**
 * Runs an effect while models start to answer and then wait: `begun` resolves after a start, `go` lets them end,
 * `left` resolves after a disconnect.
 */
export const withPendingAnswer = <A, E, R>(
  effect: (model: {
    readonly begun: Effect.Effect<void>
    readonly go: Effect.Effect<unknown>
    readonly left: Effect.Effect<void>
    readonly calls: Effect.Effect<number>
  }) => Effect.Effect<A, E, R>,
  beginning: ReadonlyArray<string> = ["Half "]
) =>
  Effect.gen(function* () {
    const { withBehavior } = yield* ModelProvidersTest
    const begun = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    const left = yield* Deferred.make<void>()
    let calls = 0
    const waiting = Stream.drain(
      Stream.fromEffect(
        Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go)).pipe(
          Effect.onInterrupt(() => Deferred.succeed(left, undefined))
        )
      )
    )
    const chat = () =>
      Stream.suspend(() => {
        calls += 1
        const first = Stream.fromIterable(beginning.map((text) => ({ type: "delta" as const, text })))
        return Stream.concat(first, Stream.concat(waiting, textAnswer("done.")))
      })
    return yield* withBehavior({ chat })(
      effect({
        begun: Deferred.await(begun),
        go: Deferred.succeed(go, undefined),
        left: Deferred.await(left),
        calls: Effect.sync(() => calls)
      })
    )
  })
