import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import type { Hex } from "viem"
import { createServer } from "node:http"
import { createOwnerWithAgent, type OwnerWithAgent } from "../contract/OwnerFixtures.ts"
import { payInTurn, readPayments, setLimits } from "../contract/WalletTurns.ts"
import { startPaidService } from "../fakes/x402/PaidService.ts"
import { startUsdcChain, type UsdcChain } from "../support/chain/UsdcChain.ts"
import { listenLocally } from "../support/LocalServer.ts"
import * as App from "../support/TestApp.ts"

const payTo: Hex = `0x${"cd".repeat(20)}`

class Chain extends Context.Tag("@berth/test/UsdcChain")<Chain, UsdcChain>() {}

const limits = { perCall: "2000000", perDay: "5000000", perAgent: "5000000", confirmAbove: "2000000" }

const createPayer = Effect.gen(function* () {
  const owner = yield* createOwnerWithAgent()
  const { body } = yield* App.web({ method: "POST", path: "/api/wallet", as: owner, json: { action: "create" } })
  const address = WalletAddress.make(String(body["address"]))
  yield* (yield* Chain).fund(address)
  yield* setLimits(owner, limits)
  return { ...owner, address }
})

const fetchPaid = (url: string) => ({ action: "x402_payments", url, method: "GET", body: null })
const Payments = Schema.Struct({ payments: Schema.Array(Schema.Struct({ status: Schema.String })) })
const statuses = (owner: OwnerWithAgent) =>
  Effect.flatMap(readPayments(owner), ({ body }) =>
    Effect.map(Schema.decodeUnknown(Payments)(body), ({ payments }) => payments.map(({ status }) => status))
  )

const Live = Layer.unwrapScoped(
  Effect.map(startUsdcChain, (chain) =>
    Layer.merge(
      App.layer({ baseSepoliaRpcUrl: chain.url, outboundAllowCidrs: ["127.0.0.0/8"] }),
      Layer.succeed(Chain, chain)
    )
  )
)

layer(Live, { excludeTestServices: true })("An agent on a real EVM", (it) => {
  it.effect("send_usdc moves USDC by one transaction of the owner's wallet", () =>
    Effect.gen(function* () {
      const owner = yield* createPayer
      const { balanceOf } = yield* Chain
      const to: Hex = `0x${"ef".repeat(20)}`
      const [sent] = yield* payInTurn(owner, { action: "send_usdc", to, amount: "1.25" })
      assert.strictEqual(sent?.[0], 200, sent?.[1])
      assert.strictEqual(yield* balanceOf(to), 1_250_000n)
      assert.deepStrictEqual(yield* statuses(owner), ["confirmed"])
    })
  )

  for (const version of [1, 2] as const)
    it.scoped(
      `x402_payments pays another service's 402 of version ${version} within the limit, and is refused above it`,
      () =>
        Effect.gen(function* () {
          const owner = yield* createPayer
          const { balanceOf, url: rpcUrl } = yield* Chain
          const before = yield* balanceOf(payTo)
          const cheap = yield* startPaidService({ rpcUrl, version, price: 1_000_000n, payTo })
          const dear = yield* startPaidService({ rpcUrl, version, price: 2_000_001n, payTo })
          const [paid, refused] = yield* payInTurn(owner, fetchPaid(cheap.url), fetchPaid(dear.url))
          assert.strictEqual(paid?.[0], 200, paid?.[1])
          assert.match(paid?.[1] ?? "", /^Status 200, paid 1 USDC to 0x(cd|CD)/i)
          assert.include(paid?.[1], "the paid answer")
          assert.strictEqual(refused?.[0], 400)
          assert.match(refused?.[1] ?? "", /exceeds the limit per payment/)
          assert.strictEqual((yield* balanceOf(payTo)) - before, 1_000_000n)
          assert.deepStrictEqual([cheap.payments.length, dear.payments.length], [1, 0])
          assert.deepStrictEqual(yield* statuses(owner), ["confirmed"])
        })
    )

  it.scoped(
    "x402_payments pays once when the answer to a paid request is lost, however often the agent repeats it",
    () =>
      Effect.gen(function* () {
        const owner = yield* createPayer
        const { balanceOf, url: rpcUrl } = yield* Chain
        const before = yield* balanceOf(payTo)
        const service = yield* startPaidService({ rpcUrl, version: 2, price: 500_000n, payTo })
        yield* service.behave("settle and lose the answer")
        const [lost, repeated] = yield* payInTurn(owner, fetchPaid(service.url), fetchPaid(service.url))
        assert.deepStrictEqual([lost?.[0], repeated?.[0]], [400, 200])
        assert.match(lost?.[1] ?? "", /repeating the call does not pay again/)
        assert.strictEqual(new Set(service.payments).size, 1)
        assert.strictEqual((yield* balanceOf(payTo)) - before, 500_000n)
        assert.deepStrictEqual(yield* statuses(owner), ["confirmed"])
      })
  )

  it.scoped(
    "x402_payments tells the model that a service refuses the payment, whose amount stays reserved until it is void",
    () =>
      Effect.gen(function* () {
        const owner = yield* createPayer
        const { url: rpcUrl } = yield* Chain
        const service = yield* startPaidService({ rpcUrl, version: 1, price: 700_000n, payTo })
        yield* service.behave("refuse the payment")
        const [refused] = yield* payInTurn(owner, fetchPaid(service.url))
        assert.match(refused?.[1] ?? "", /did not accept the payment/)
        assert.deepStrictEqual(yield* statuses(owner), ["sent"])
      })
  )

  it.scoped("x402_payments follows no redirect of a service", () =>
    Effect.gen(function* () {
      const owner = yield* createPayer
      const { origin } = yield* listenLocally(
        createServer((_, response) => response.writeHead(302, { location: "http://169.254.169.254/" }).end())
      )
      const [refused] = yield* payInTurn(owner, fetchPaid(origin))
      assert.deepStrictEqual(refused, [400, "The service redirects, which is not followed."])
    })
  )
})
