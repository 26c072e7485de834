import { GatewayAnswer, gatewayPath } from "@berth/api/gateway/GatewayApi"
import { Charging } from "@berth/domain/billing/Charging"
import { entitlementsOf } from "@berth/domain/billing/Plan"
import type { ChatChunk } from "@berth/domain/ai/ModelChat"
import { ChallengeBody } from "@berth/domain/gateway/payments/ChallengeMessage"
import { Deferred, Effect, Schema, Stream } from "effect"
import { ScriptedModels } from "../support/ScriptedModels.ts"
import type { HttpAnswer } from "../support/HttpCall.ts"
import { plain } from "../support/payments/PaidCalls.ts"
import * as App from "../support/WebApp.ts"

/*
 * Calls of the gateway, and payments by machines for them.
 */

export const hello = { messages: [{ role: "user", content: "hello" }], max_tokens: 100 }
export const asMachine = { "x-payment-method": "mpp" }

/** A call of the gateway, of the usual text when nothing else is said. */
export const gateway = (call: Partial<App.AppCall> = {}) =>
  Effect.flatMap(App.WebApp, ({ web }) =>
    web({ method: "POST", path: gatewayPath, ...(call.body === undefined ? { json: hello } : {}), ...call })
  )

export const answerOf = ({ text }: HttpAnswer) => Effect.orDie(Schema.decode(Schema.parseJson(GatewayAnswer))(text))

/** What a call is asked to pay, as a client of the interface reads it. */
export const challengeFor = (call: Partial<App.AppCall> = {}) =>
  Effect.gen(function* () {
    const asked = yield* gateway({ ...call, headers: { ...asMachine, ...call.headers } })
    return (yield* Effect.orDie(Schema.decode(Schema.parseJson(ChallengeBody))(asked.text))).mpp
  })

/** A credential that pays what is asked; the interface's own, with a signed transaction that nobody has sent. */
export const pay = (terms: { readonly nonce: string; readonly recipient: string; readonly amount: string }) =>
  Effect.gen(function* () {
    const { network } = yield* App.WebApp
    const raw = yield* network.sign([{ to: terms.recipient, amount: BigInt(terms.amount) }])
    return { raw, hash: network.hashOf(raw), authorization: plain({ id: terms.nonce }, raw).join("") }
  })

/** The same for a call that has not been made yet. */
export const paidFor = (call: Partial<App.AppCall> = {}) => Effect.flatMap(challengeFor(call), pay)

/** Units that are booked or held for a user today. */
export const unitsOf = ({ user }: App.SignedIn) =>
  Effect.flatMap(Charging, (charging) =>
    Effect.map(charging.usage(user.id, entitlementsOf(user.plan).dailyUnits), ({ used }) => used)
  )

/** An answer that took so many tokens. */
export const saying = (text: string, totalTokens = 10): Stream.Stream<ChatChunk> =>
  Stream.make(
    { type: "text" as const, text },
    {
      type: "end" as const,
      usage: { promptTokens: totalTokens - 1, completionTokens: 1, totalTokens },
      finishReason: "stop"
    }
  )

/**
 * Runs an effect while models begin to answer and then wait: `begun` says that one has, `go` lets them end, `left` says that one
 * was left.
 */
export const whileWaiting = <A, E, R>(
  effect: (model: {
    readonly begun: Effect.Effect<void>
    readonly go: Effect.Effect<unknown>
    readonly left: Effect.Effect<void>
    readonly calls: Effect.Effect<number>
  }) => Effect.Effect<A, E, R>,
  beginning: ReadonlyArray<string> = ["Half "]
) =>
  Effect.gen(function* () {
    const { during } = yield* ScriptedModels
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
        const first = Stream.fromIterable(beginning.map((text) => ({ type: "text" as const, text })))
        return Stream.concat(first, Stream.concat(waiting, saying("done.")))
      })
    return yield* during({ chat })(
      effect({
        begun: Deferred.await(begun),
        go: Deferred.succeed(go, undefined),
        left: Deferred.await(left),
        calls: Effect.sync(() => calls)
      })
    )
  })
