import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import type { GatingToken } from "@berth/domain/gating/TokenGate"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Ref } from "effect"
import {
  respondRpcError,
  type ChainNodeBehavior,
  respondRpcResult,
  makeFakeChainNode
} from "../fakes/chain/FakeChainNode.ts"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"
import { type TestChain, startTestChain } from "../support/chain/TestChain.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import * as s from "./ResponseShapes.ts"

const path = "/api/auth/token-gating/verify"
const minBalance = 10n ** 24n

const gatedBy = (address: GatingToken["address"]): GatingToken => ({
  address,
  symbol: "SHIP",
  chain: "base",
  minBalance
})

const check = (address: string) => App.web({ method: "POST", path, json: { fid: "7", address } })
const lookAt = (address: string) => App.web({ method: "GET", path: `${path}?address=${address}` })

class Chain extends Context.Tag("@berth/test/Chain")<Chain, TestChain>() {}

const onChain = Layer.unwrapScoped(
  Effect.map(startTestChain, (chain) =>
    Layer.merge(
      App.layer({ baseRpcUrl: `${chain.url}/?key=hunter2`, gatingToken: gatedBy(chain.token) }),
      Layer.succeed(Chain, chain)
    )
  )
)

layer(onChain, { excludeTestServices: true })("Token gating", (it) => {
  it.effect("Token gating grants access from the exact minimum balance on", () =>
    Effect.gen(function* () {
      const chain = yield* Chain
      const [holder, almost, nobody] = [makePrivateKey(), makePrivateKey(), makePrivateKey()]
      yield* chain.mint(holder.address, minBalance)
      yield* chain.mint(almost.address, minBalance - 1n)
      for (const [{ address }, hasAccess] of [
        [holder, true],
        [almost, false],
        [nobody, false]
      ] as const) {
        const verdict = {
          address: s.equalTo(address),
          hasAccess: s.equalTo(hasAccess),
          tokenGated: s.equalTo(true),
          minBalance: s.equalTo("1000000000000000000000000"),
          token: s.equalTo("SHIP"),
          chain: s.equalTo("base")
        }
        const checked = yield* check(address)
        assert.strictEqual(checked.status, 200, checked.text)
        s.assertShape(checked.body, {
          fid: s.equalTo("7"),
          ...verdict,
          message: s.nonEmptyText,
          timestamp: s.recentTimestamp
        })
        const looked = yield* lookAt(address)
        assert.strictEqual(looked.status, 200, looked.text)
        s.assertShape(looked.body, {
          ...verdict,
          contractAddress: s.equalTo(chain.token),
          // Without the query, which contains a key.
          rpcEndpoint: s.equalTo(chain.url)
        })
      }
    })
  )

  it.effect("Token gating accepts an address in any case", () =>
    Effect.gen(function* () {
      const chain = yield* Chain
      const { address } = makePrivateKey()
      yield* chain.mint(address, minBalance)
      const digits = address.slice(2)
      // A wrong checksum is accepted too: the specification requires only 42 characters.
      const mixed = digits.replace(/[a-f]/i, (digit) =>
        digit === digit.toLowerCase() ? digit.toUpperCase() : digit.toLowerCase()
      )
      for (const address of [digits.toLowerCase(), digits.toUpperCase(), mixed]) {
        const { body } = yield* check(`0x${address}`)
        assert.deepInclude(body, { address: `0x${address}`, hasAccess: true })
      }
    })
  )
})

layer(
  Layer.unwrapScoped(
    Effect.map(startTestChain, (chain) => App.layer({ baseRpcUrl: chain.url, gatingToken: gatedBy(chain.factory) }))
  ),
  { excludeTestServices: true }
)("A gating token that is none", (it) => {
  it.effect("A gating token that is none is 500 without access decision", () =>
    Effect.gen(function* () {
      const { address } = makePrivateKey()
      for (const answer of [yield* check(address), yield* lookAt(address)])
        assertError(answer, { status: 500, code: "gating_check_failed" })
    })
  )
})

class NodeBehavior extends Context.Tag("@berth/test/ModelBehavior")<
  NodeBehavior,
  { readonly now: Ref.Ref<ChainNodeBehavior>; readonly requests: Effect.Effect<ReadonlyArray<unknown>> }
>() {}

const broken = respondRpcError({ code: -32603, message: "internal error" })

const overStub = Layer.unwrapScoped(
  Effect.gen(function* () {
    const now = yield* Ref.make<ChainNodeBehavior>(broken)
    const node = yield* makeFakeChainNode((request, response) => Effect.runSync(Ref.get(now))(request, response))
    const gatingToken = { ...gatedBy(WalletAddress.make(makePrivateKey().address)), minBalance: 1n }
    return Layer.merge(
      App.layer({ baseRpcUrl: node.url, gatingToken }),
      Layer.succeed(NodeBehavior, { now, requests: node.requests })
    )
  })
)

layer(overStub, { excludeTestServices: true })("A failing chain node", (it) => {
  const word = (value: bigint) => `0x${value.toString(16).padStart(64, "0")}`

  it.effect("A failing chain node is 500, never denied access, is not cached, and its key is not disclosed", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const { now } = yield* NodeBehavior
      const { address } = makePrivateKey()
      yield* Ref.set(now, broken)
      for (const answer of [yield* check(address), yield* lookAt(address)]) {
        assertError(answer, { status: 500, code: "gating_check_failed" })
        assert.notProperty(answer.body, "hasAccess")
      }
      yield* Ref.set(now, respondRpcResult(word(1n)))
      assert.deepInclude((yield* check(address)).body, { hasAccess: true })
      const looked = yield* lookAt(address)
      assert.match(String(looked.body["rpcEndpoint"]), /^http:\/\/127\.0\.0\.1:\d+$/)
      for (const text of [looked.text, (yield* logLines).join("\n")]) assert.notInclude(text, "hunter2")
    })
  )

  it.effect("A failing chain node does not affect cached access, and concurrent requests share one call", () =>
    Effect.gen(function* () {
      const { requests, now } = yield* NodeBehavior
      const { address } = makePrivateKey()
      yield* Ref.set(now, respondRpcResult(word(1n)))
      const before = (yield* requests).length
      const answers = yield* Effect.replicateEffect(check(address), 30, { concurrency: "unbounded" })
      assert.isTrue(answers.every(({ body }) => body["hasAccess"] === true))
      assert.strictEqual((yield* requests).length, before + 1)
      yield* Ref.set(now, broken)
      assert.deepInclude((yield* check(address)).body, { hasAccess: true })
    })
  )
})
