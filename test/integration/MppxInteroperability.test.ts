import { ChallengeBody, formatChallengeHeader } from "@berth/api/gateway/payments/ChallengeMessage"
import type { MachinePayments } from "@berth/domain/gateway/payments/MachinePayments"
import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import * as PostgresPaymentRedemptions from "@berth/infra/postgres/gateway/PostgresPaymentRedemptions"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { Challenge, Receipt } from "mppx"
import { Mppx, tempo } from "mppx/client"
import * as MigratedDatabase from "../support/MigratedDatabase.ts"
import { paidRequest, makeMachinePayments, interfaceCredential } from "../support/payments/PaymentFixtures.ts"
import { startPaidServer } from "../support/payments/PaidServer.ts"
import { type TempoNetwork, startTempoNetwork } from "../fakes/payments/TempoNetwork.ts"
import * as TestSecrets from "../support/TestSecrets.ts"

/* Interoperability: mppx clients pay, and mppx verifies the result. */
class MppxFixtures extends Context.Tag("@berth/test/MppxFixtures")<
  MppxFixtures,
  { readonly network: TempoNetwork; readonly payments: MachinePayments; readonly url: string }
>() {}

const mppxFixtures = Layer.scoped(
  MppxFixtures,
  Effect.gen(function* () {
    const network = yield* startTempoNetwork
    const payments = yield* makeMachinePayments({ network, redemptions: yield* PaymentRedemptions })
    return { network, payments, url: yield* startPaidServer(payments) }
  })
).pipe(
  Layer.provide(PostgresPaymentRedemptions.layer),
  Layer.provide(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const secret = "a secret for tests"
const json = { method: "POST", headers: { "content-type": "application/json" }, body: '{"messages":["hello"]}' }

const text = (response: Response) => Effect.promise(() => response.text())

layer(mppxFixtures, { excludeTestServices: true, timeout: "120 seconds" })("A client of mppx", (it) => {
  for (const mode of ["pull", "push"] as const)
    it.effect(
      `A client of mppx pays in its ${mode} mode and understands the receipt; what it has sent is good for nothing else`,
      () =>
        Effect.gen(function* () {
          const { network, url } = yield* MppxFixtures
          const account = yield* network.payer(1_000_000n)
          const seen: Array<string> = []
          const client = Mppx.create({
            polyfill: false,
            methods: [tempo.charge({ account, mode, getClient: () => network.client })],
            fetch: (input, init) => {
              seen.push(new Headers(init?.headers).get("authorization") ?? "")
              return fetch(input, init)
            }
          })
          const before = yield* network.received
          const response = yield* Effect.promise(() => client.fetch(`${url}/`, json))
          assert.strictEqual(response.status, 200, yield* text(response.clone()))
          const receipt = Receipt.fromResponse(response)
          assert.deepInclude(receipt, { status: "success", method: "tempo" })
          assert.strictEqual(yield* network.received, before + paidRequest.amount)

          const authorization = seen.at(-1) ?? ""
          assert.match(authorization, /^Payment /)
          const repeat = (changes: RequestInit) =>
            Effect.promise(() => fetch(url, { ...json, ...changes, headers: { ...json.headers, authorization } }))
          const same = yield* repeat({})
          assert.strictEqual(same.status, 200)
          assert.deepStrictEqual(Receipt.fromResponse(same), receipt)
          const other = yield* repeat({ body: '{"messages":["other"]}' })
          assert.strictEqual(other.status, 402)
          assert.isNull(other.headers.get("payment-receipt"))
          assert.include(yield* text(other), "https://paymentauth.org/problems/invalid-challenge")
          assert.strictEqual(yield* network.received, before + paidRequest.amount)
        }),
      120_000
    )

  it.effect("An mppx client of the interface's form pays too", () =>
    Effect.gen(function* () {
      const { network, url } = yield* MppxFixtures
      const requested = yield* Effect.promise(() => fetch(url, json))
      assert.strictEqual(requested.status, 402)
      const { mpp } = yield* Schema.decode(Schema.parseJson(ChallengeBody))(yield* text(requested))
      const raw = yield* network.sign([{ to: mpp.recipient, amount: BigInt(mpp.amount), token: mpp.currency }])
      const authorization = interfaceCredential({ id: mpp.nonce }, raw).join("")
      const paid = yield* Effect.promise(() => fetch(url, { ...json, headers: { ...json.headers, authorization } }))
      assert.strictEqual(paid.status, 200, yield* text(paid.clone()))
    })
  )

  it.effect("A client of mppx verifies a challenge of the same secret", () =>
    Effect.gen(function* () {
      const { payments } = yield* MppxFixtures
      const challenge = yield* payments.challenge(paidRequest)
      const theirs = Challenge.deserialize(formatChallengeHeader(challenge))
      assert.deepInclude(theirs, { id: challenge.id, realm: challenge.realm, description: paidRequest.description })
      const [binding = ""] = challenge.id.split(".")
      assert.isTrue(Challenge.verify({ ...theirs, id: binding }, { secretKey: secret }))
      assert.isFalse(Challenge.verify({ ...theirs, id: binding, realm: "other" }, { secretKey: secret }))
    })
  )
})
