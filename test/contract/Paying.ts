import { GatewayAnswer, gatewayPath } from "@berth/api/gateway/GatewayApi"
import { ChallengeBody } from "@berth/domain/gateway/payments/ChallengeMessage"
import { Effect, Schema } from "effect"
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
