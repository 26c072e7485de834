import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import * as WalletChainTest from "@berth/infra/chain/WalletChainTest"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { inTaskTurn } from "./TurnFixtures.ts"
import { callWallet, decidePayment, inOwnerTurn, payInTurn, readPayments, setLimits } from "./WalletTurns.ts"

const payee = `0x${"ab".repeat(20)}`
const send = (amount: string, more: Readonly<Record<string, unknown>> = {}) => ({
  action: "send_usdc",
  to: payee,
  amount,
  ...more
})
const limits = { perCall: "5000000", perDay: "8000000", perAgent: "100000000", confirmAbove: "2000000" }
const zero = { perCall: "0", perDay: "0", perAgent: "0", confirmAbove: "0" }

const Payments = Schema.Struct({
  payments: Schema.Array(Schema.Struct({ id: Schema.String, status: Schema.String, amount: Schema.String })),
  total: Schema.Int
})
const listPayments = (owner: OwnerWithAgent) =>
  Effect.flatMap(readPayments(owner), ({ body }) => Schema.decodeUnknown(Payments)(body))

const createPayer = (spendLimits: unknown = limits) =>
  Effect.gen(function* () {
    const owner = yield* createOwnerWithAgent()
    const { body } = yield* App.web({ method: "POST", path: "/api/wallet", as: owner, json: { action: "create" } })
    const address = WalletAddress.make(String(body["address"]))
    const chain = yield* WalletChainTest.WalletChainTest
    yield* chain.setBalance(address, 10n ** 18n)
    yield* chain.setUsdc(address, 50_000_000n)
    assert.strictEqual((yield* setLimits(owner, spendLimits)).status, 200)
    return { ...owner, address }
  })

layer(App.layer({ overrides: WalletChainTest.layer }), { excludeTestServices: true })(
  "The wallet of an agent",
  (it) => {
    it.effect("Limits are zero until the owner's session sets them, and API keys cannot", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const path = `/api/agents/${owner.agent.id}/wallet-limits`
        assert.deepStrictEqual((yield* App.web({ method: "GET", path, as: owner })).body, { limits: zero })
        const { headers } = yield* createApiKey(owner, "agents")
        for (const call of [{ method: "PUT", json: limits }, { method: "GET" }])
          assertError(yield* App.web({ ...call, path, headers }), { status: 403, code: "scope_missing" })
        assert.deepStrictEqual((yield* setLimits(owner, limits)).body, { limits })
        assert.deepStrictEqual((yield* App.web({ method: "GET", path, as: owner })).body, { limits })
        for (const invalid of ["-1", "1.5", "1e3", 7, "", "1000000000000001", "01", null])
          assertError(yield* setLimits(owner, { ...limits, perDay: invalid }), { status: 400, code: "invalid_request" })
      })
    )

    it.effect("An agent reads the balance and sends USDC within the limits, and the ledger lists each payment", () =>
      Effect.gen(function* () {
        const owner = yield* createPayer()
        const [balance, sent] = yield* payInTurn(owner, { action: "get_balance" }, send("1.50"))
        assert.deepStrictEqual(balance, [200, `Wallet ${owner.address} on base-sepolia: 50 USDC, 1 ETH.`])
        assert.strictEqual(sent?.[0], 200)
        assert.match(sent?.[1] ?? "", /^1\.5 USDC were sent to 0xab/)
        const { payments, total } = yield* listPayments(owner)
        assert.deepStrictEqual(
          [total, payments.map(({ amount, status }) => [amount, status])],
          [1, [["1500000", "confirmed"]]]
        )
      })
    )

    it.effect("No argument of a tool call raises a limit or skips the owner's approval", () =>
      Effect.gen(function* () {
        const owner = yield* createPayer(zero)
        const raised = {
          limits,
          perCall: "999",
          confirmAbove: "999",
          approved: true,
          paymentId: "pay_1",
          status: "approved"
        }
        for (const amount of ["0.000001", "1", "5"]) {
          const [refused] = yield* payInTurn(owner, send(amount, raised))
          assert.strictEqual(refused?.[0], 400)
          assert.match(refused?.[1] ?? "", /Only the owner can change limits/)
        }
        for (const action of ["set_limits", "approve", "wallet-limits"]) {
          const [unknown] = yield* payInTurn(owner, { action, ...raised })
          assert.strictEqual(unknown?.[0], 400)
        }
        assert.strictEqual((yield* listPayments(owner)).total, 0)
      })
    )

    it.effect("A payment above the threshold waits until the owner approves or refuses it", () =>
      Effect.gen(function* () {
        const [owner, stranger] = [yield* createPayer(), yield* createPayer()]
        const [first, second] = yield* payInTurn(owner, send("3"), send("4"))
        assert.match(first?.[1] ?? "", /waits for the owner's approval/)
        assert.match(second?.[1] ?? "", /waits for the owner's approval/)
        const { payments } = yield* listPayments(owner)
        const [later, earlier] = payments
        assertError(yield* decidePayment(stranger, earlier?.id, "approve"), {
          status: 404,
          code: "wallet_payment_not_found"
        })
        const approved = yield* decidePayment(owner, earlier?.id, "approve")
        assert.strictEqual(approved.status, 200, approved.text)
        assert.deepInclude(approved.body["payment"], { status: "confirmed", amount: "3000000" })
        assertError(yield* decidePayment(owner, earlier?.id, "approve"), {
          status: 409,
          code: "wallet_payment_not_pending"
        })
        assert.deepInclude((yield* decidePayment(owner, later?.id, "refuse")).body["payment"], { status: "refused" })
        assertError(yield* decidePayment(owner, later?.id, "approve"), {
          status: 409,
          code: "wallet_payment_not_pending"
        })
        yield* payInTurn(owner, send("5"))
        const [newest] = (yield* listPayments(owner)).payments
        yield* setLimits(owner, { ...limits, perDay: "4000000" })
        assertError(yield* decidePayment(owner, newest?.id, "approve"), { status: 400, code: "spend_limit_exceeded" })
      })
    )

    it.effect("Raising a limit and approving need a recent sign-in; lowering limits and refusing do not", () =>
      Effect.gen(function* () {
        const owner = yield* createPayer()
        yield* payInTurn(owner, send("3"))
        const [pending] = (yield* listPayments(owner)).payments
        yield* sql`update sessions set authenticated_at = now() - interval '11 minutes' where user_id = ${owner.user.id}`
        const tooOld = { status: 403, code: "recent_sign_in_required" }
        for (const name of ["perCall", "perDay", "perAgent", "confirmAbove"])
          assertError(yield* setLimits(owner, { ...zero, [name]: "100000001" }), tooOld)
        assertError(yield* decidePayment(owner, pending?.id, "approve"), tooOld)
        assert.strictEqual((yield* setLimits(owner, { ...limits, perDay: "1" })).status, 200)
        assert.strictEqual((yield* decidePayment(owner, pending?.id, "refuse")).status, 200)
      })
    )

    it.effect("Turns of tasks, of messaging channels, of other owners and ended turns have no wallet", () =>
      Effect.gen(function* () {
        const [owner, stranger] = [yield* createPayer(), yield* createPayer()]
        const inTask = yield* inTaskTurn(owner, (messageId) => callWallet(owner, messageId, send("1")))
        const platform = (name: string) =>
          sql`update messages set platform = ${name} where user_id = ${owner.user.id}`.pipe(
            Effect.zipRight(sql`update chat_sessions set platform = ${name} where user_id = ${owner.user.id}`),
            Effect.orDie
          )
        const ofChannel = yield* inOwnerTurn(owner, (messageId) =>
          platform("platformA").pipe(
            Effect.zipRight(callWallet(owner, messageId, send("1"))),
            Effect.ensuring(platform("web"))
          )
        )
        const ended = yield* Effect.flatMap(inOwnerTurn(owner, Effect.succeed), (messageId) =>
          callWallet(owner, messageId, send("1"))
        )
        for (const answer of [inTask, ofChannel, ended])
          assertError(answer, { status: 404, code: "turn_not_in_progress" })
        const foreign = yield* inOwnerTurn(owner, (messageId) =>
          callWallet({ ...stranger, agent: owner.agent }, messageId, send("1"))
        )
        assertError(foreign, { status: 404, code: "agent_not_in_instance" })
        assert.strictEqual((yield* listPayments(owner)).total, 0)
      })
    )

    it.effect("Wrong arguments, too little USDC and a missing wallet are reported to the model and pay nothing", () =>
      Effect.gen(function* () {
        const owner = yield* createPayer({
          ...limits,
          perCall: "60000000",
          perDay: "60000000",
          confirmAbove: "60000000"
        })
        const answers = yield* payInTurn(
          owner,
          send("1", { to: "0x12" }),
          send("-1"),
          send("0.0000001"),
          send("51"),
          { action: "x402_payments", url: "file:///etc/passwd", method: "GET", body: null },
          { action: "x402_payments", url: "http://127.0.0.1:1/", method: "GET", body: null }
        )
        const texts = answers.map(([, text]) => text)
        for (const [index, pattern] of [
          /`to`/,
          /`amount`/,
          /`amount`/,
          /too little USDC/,
          /`url`/,
          /no public address/
        ].entries())
          assert.match(texts[index] ?? "", pattern)
        const chain = yield* WalletChainTest.WalletChainTest
        const [away] = yield* chain.withBehavior(chain.away)(payInTurn(owner, send("1")))
        assert.match(away?.[1] ?? "", /not made: the chain cannot be reached/)
        const { broadcast } = chain.away
        const [lost] = yield* chain.withBehavior({ broadcast })(payInTurn(owner, send("1")))
        assert.match(lost?.[1] ?? "", /stays reserved and is sent as soon as it can/)
        const poor = yield* createOwnerWithAgent()
        assert.match((yield* payInTurn(poor, send("1")))[0]?.[1] ?? "", /no wallet/)
      })
    )
  }
)
