import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import * as WalletChainTest from "@berth/infra/chain/WalletChainTest"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import { privateKeyToAddress } from "viem/accounts"
import { UserWalletRepository } from "@berth/domain/wallets/UserWalletRepository"
import { makeFakeCdp } from "../fakes/cdp/FakeCdp.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { bearer, createApiKey } from "./ApiKeyFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import { registeredPassword } from "./ErrorRow.ts"

const network = walletNetwork.name
const act = (as: App.SignedIn, action: string) => App.web({ method: "POST", path: "/api/wallet", as, json: { action } })
const get = (path: string, as?: App.SignedIn) => App.web({ method: "GET", path, ...(as === undefined ? {} : { as }) })
const importKey = (as: App.SignedIn, json: unknown = {}) =>
  App.web({ method: "POST", path: "/api/wallet/cdp", as, json })

const privateKey = `0x${"1f".repeat(32)}`

layer(App.layer({ overrides: WalletChainTest.layer }), { excludeTestServices: true })("The user wallet", (it) => {
  it.effect("The wallet routes return exactly the fields of the specification through the life of a wallet", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      const chain = yield* WalletChainTest.WalletChainTest
      const { message, ...none } = (yield* get("/api/wallet", user)).body
      assert.deepStrictEqual(none, { address: null, balance: "0", network, hasWallet: false })
      assert.include(String(message), "POST /api/wallet")
      const noAddress = yield* get("/api/wallet/address", user)
      assert.deepStrictEqual(Object.keys(noAddress.body), ["authenticated", "needsAuth", "message"])
      assertError(yield* act(user, "get_seed"), { status: 404, code: "user_wallet_not_found" })

      const created = yield* act(user, "create")
      assert.deepStrictEqual([created.status, Object.keys(created.body)], [200, ["address", "network", "message"]])
      const address = String(created.body["address"])
      assert.match(address, /^0x[0-9a-fA-F]{40}$/)
      assertError(yield* act(user, "create"), { status: 400, code: "user_wallet_exists" })

      yield* chain.setBalance(WalletAddress.make(address), 1_500_000_000_000_000_001n)
      const { createdAt, ...read } = (yield* get("/api/wallet", user)).body
      assert.deepStrictEqual(read, { address, balance: "1.500000000000000001", network, hasWallet: true })
      const seed = yield* act(user, "get_seed")
      assert.deepStrictEqual(Object.keys(seed.body), ["address", "network", "createdAt", "warning"])
      assert.deepStrictEqual([seed.body["address"], seed.body["createdAt"]], [address, createdAt])
      assertError(yield* act(user, "export_seed"), { status: 403, code: "seed_export_disabled" })
      assert.deepStrictEqual((yield* get("/api/wallet/address", user)).body, { authenticated: true, address })
    })
  )

  it.effect("GET /api/wallet/address without a session answers that authentication is needed", () =>
    Effect.gen(function* () {
      const { body, status } = yield* get("/api/wallet/address")
      assert.deepStrictEqual([status, body["authenticated"], body["needsAuth"]], [200, false, true])
      assert.deepStrictEqual(Object.keys(body), ["authenticated", "needsAuth", "message"])
    })
  )

  it.effect("GET /api/wallet returns the last known balance with a Warning while the chain is away", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      const chain = yield* WalletChainTest.WalletChainTest
      const address = WalletAddress.make(String((yield* act(user, "create")).body["address"]))
      const unknown = yield* chain.withBehavior(chain.away)(get("/api/wallet", user))
      assert.deepStrictEqual([unknown.status, unknown.body["balance"]], [200, "0"])
      assert.match(unknown.headers["warning"] ?? "", /no balance is known/)
      yield* chain.setBalance(address, 7n * 10n ** 17n)
      assert.isUndefined((yield* get("/api/wallet", user)).headers["warning"])
      const known = yield* chain.withBehavior(chain.away)(get("/api/wallet", user))
      assert.deepStrictEqual([known.status, known.body["balance"]], [200, "0.7"])
      assert.match(
        known.headers["warning"] ?? "",
        /^199 - "The chain is unreachable; the balance is the last known one"$/
      )
    })
  )

  it.effect("Of 100 concurrent create calls one is 200, 99 are 400, and all name the same wallet afterwards", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      const answers = yield* Effect.all(
        Array.from({ length: 100 }, () => act(user, "create")),
        { concurrency: "unbounded" }
      )
      const created = answers.filter(({ status }) => status === 200)
      assert.lengthOf(created, 1)
      assert.lengthOf(
        answers.filter(({ body, status }) => status === 400 && body["code"] === "user_wallet_exists"),
        99
      )
      assert.strictEqual((yield* get("/api/wallet", user)).body["address"], created[0]?.body["address"])
    })
  )

  it.effect(
    "The key of a wallet does not open in another user's row, and the address answers a configuration error",
    () =>
      Effect.gen(function* () {
        const [one, other] = [yield* App.signInNewUser(), yield* App.signInNewUser()]
        yield* act(one, "create")
        yield* act(other, "create")
        yield* sql`
        update user_wallets set key_sealed = (select key_sealed from user_wallets where user_id = ${one.user.id})
        where user_id = ${other.user.id}`
        assert.isTrue((yield* get("/api/wallet/address", one)).body["authenticated"])
        const { body } = yield* get("/api/wallet/address", other)
        assert.deepStrictEqual(Object.keys(body), ["authenticated", "needsAuth", "error", "setup"])
        assert.include(String(body["setup"]), "SECRETS_KEYS")
        yield* sql`
        update user_wallets set address = (select address from user_wallets where user_id = ${other.user.id})
        where user_id = ${one.user.id}`
        assert.isFalse((yield* get("/api/wallet/address", one)).body["authenticated"])
      })
  )

  it.effect("An imported key is stored once, encrypted, never echoed, and bound to the user's first key", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      const stored = yield* importKey(user, { privateKey })
      assert.deepStrictEqual(stored.body, {
        success: true,
        address: privateKeyToAddress(`0x${"1f".repeat(32)}`),
        network
      })
      assert.notInclude(stored.text, privateKey.slice(2))
      const [row] = yield* sql`select key_sealed from user_wallets where user_id = ${user.user.id}`
      assert.notInclude(JSON.stringify(row), "1f1f1f1f")
      assert.deepStrictEqual((yield* importKey(user, { privateKey })).body, stored.body)
      assertError(yield* importKey(user), { status: 400, code: "user_wallet_exists" })
      assertError(yield* importKey(user, { privateKey: `0x${"2f".repeat(32)}` }), {
        status: 400,
        code: "user_wallet_exists"
      })
      assert.isFalse((yield* get("/api/wallet", user)).body["hasWallet"])
    })
  )

  it.effect("A key that is no key of the curve is 400 and appears neither in the answer nor in the log", () =>
    Effect.gen(function* () {
      const user = yield* App.signInNewUser()
      const order = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
      for (const invalid of ["", "0x", "abc", `0x${"0".repeat(64)}`, order, "1f".repeat(32), `0x${"1f".repeat(33)}`]) {
        const answer = yield* importKey(user, { privateKey: invalid })
        assertError(answer, { status: 400, code: "private_key_invalid" })
        if (invalid.length > 8) assert.notInclude(answer.text, invalid.slice(4))
      }
      assertError(yield* importKey(user, { privateKey: 7 }), { status: 400, code: "invalid_request" })
      const { logLines } = yield* App.TestApp
      assert.notInclude((yield* logLines).join("\n"), order.slice(4))
      const generated = yield* importKey(user)
      assert.strictEqual(generated.status, 200, generated.text)
    })
  )

  it.effect(
    "UserWalletRepository.removeSuppliedSince removes a wallet with a supplied key, and keeps generated ones",
    () =>
      Effect.gen(function* () {
        const user = yield* App.signInNewUser()
        const before = yield* DateTime.now
        yield* act(user, "create")
        yield* importKey(user, { privateKey })
        const generated = yield* App.signInNewUser()
        yield* importKey(generated)
        const { find, removeSuppliedSince } = yield* UserWalletRepository
        yield* removeSuppliedSince(user.user.id, before)
        yield* removeSuppliedSince(generated.user.id, before)
        const remaining = [
          yield* find(user.user.id, "user"),
          yield* find(user.user.id, "cdp"),
          yield* find(generated.user.id, "cdp")
        ]
        assert.deepStrictEqual(remaining.map(Option.isSome), [true, false, true])
      })
  )

  it.effect("API keys of every scope are refused by the wallet routes", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { key } = yield* createApiKey(owner, "agents")
      const calls = [
        { method: "POST", path: "/api/wallet", json: { action: "create" } },
        { method: "POST", path: "/api/wallet/cdp", json: {} },
        { method: "GET", path: "/api/wallet" },
        { method: "GET", path: "/api/wallet/address" }
      ]
      for (const call of calls)
        assertError(yield* App.web({ ...call, headers: bearer(key) }), { status: 403, code: "scope_missing" })
    })
  )
})

const createDeveloperWallet = (email: unknown, call: Partial<App.AppCall> = {}) =>
  App.web({ method: "POST", path: "/api/wallet/create", json: { email }, ...call })

layer(Layer.unwrapScoped(Effect.map(makeFakeCdp, (cdp) => App.layer({ cdp: cdp.settings }))), {
  excludeTestServices: true
})("A configured developer platform", (it) => {
  it.effect("GET /api/wallet returns the features of the platform without authentication", () =>
    Effect.gen(function* () {
      const { body, status } = yield* get("/api/wallet")
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(body["agenticWallet"], {
        status: "configured",
        projectId: "0f1e2d3c...",
        features: ["create_wallet", "get_balance", "send_usdc", "trade_tokens", "x402_payments"]
      })
      assert.deepStrictEqual(Object.keys(body), ["agenticWallet", "instructions"])
    })
  )

  it.effect("GET /api/wallet/cdp describes the supported wallets", () =>
    Effect.gen(function* () {
      const { body } = yield* get("/api/wallet/cdp")
      assert.deepStrictEqual(body, { status: "ok", type: "evm_wallet", supportedChains: ["base", "base-sepolia"] })
    })
  )

  it.effect("Two callers with one email get wallets of their own, and a repetition under one key the same wallet", () =>
    Effect.gen(function* () {
      const email = `${registeredPassword.length}@example.com`
      const once = { from: "192.0.2.50", headers: { "idempotency-key": "wallet-1" } }
      const first = yield* createDeveloperWallet(email, once)
      assert.strictEqual(first.status, 200, first.text)
      const { walletAddress, walletId, ...rest } = first.body
      assert.deepStrictEqual(rest, { success: true, networks: ["base-sepolia", "base"] })
      assert.deepStrictEqual((yield* createDeveloperWallet(email, once)).body, first.body)
      for (const call of [{}, { ...once, from: "192.0.2.51" }]) {
        const { body } = yield* createDeveloperWallet(email, call)
        assert.notStrictEqual(body["walletAddress"], walletAddress)
        assert.notStrictEqual(body["walletId"], walletId)
      }
    })
  )

  it.effect("POST /api/wallet/create is limited per client address, whatever its outcome", () =>
    Effect.gen(function* () {
      const from = "192.0.2.60"
      for (const email of ["a@example.com", "nobody", "b@example.com", "", "c@example.com"])
        yield* createDeveloperWallet(email, { from })
      const refused = yield* createDeveloperWallet("d@example.com", { from })
      assertError(refused, { status: 429, code: "rate_limit_exceeded" })
    })
  )
})
