import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { SessionId } from "@berth/domain/sessions/Session"
import { Sessions } from "@berth/domain/sessions/Sessions"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { SpendLimits } from "@berth/domain/wallets/payments/SpendLimits"
import { PaymentDispatch } from "@berth/domain/wallets/payments/PaymentDispatch"
import { maximumPendingPayments, type WalletPayment } from "@berth/domain/wallets/payments/WalletPayment"
import { WalletPaymentRepository } from "@berth/domain/wallets/payments/WalletPaymentRepository"
import { WalletPayments } from "@berth/domain/wallets/payments/WalletPayments"
import { UserWalletRepository } from "@berth/domain/wallets/UserWalletRepository"
import { WalletKeys } from "@berth/domain/wallets/WalletKeys"
import * as ViemWalletKeys from "@berth/infra/chain/ViemWalletKeys"
import * as ViemWalletSigner from "@berth/infra/chain/ViemWalletSigner"
import * as WalletChainTest from "@berth/infra/chain/WalletChainTest"
import { renderPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Either, Exit, Layer, Option } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import { testStorage } from "../support/TestStorage.ts"

const storage = Layer.unwrapScoped(Effect.map(migratedDatabase, (databaseUrl) => testStorage(databaseUrl)))

const Live = Layer.merge(WalletPayments.Default, PaymentDispatch.Default).pipe(
  Layer.provideMerge(Layer.mergeAll(ViemWalletKeys.layer, ViemWalletSigner.layer, WalletChainTest.layer)),
  Layer.provide(
    Layer.merge(
      Layer.mock(Sessions, { _tag: "@berth/Sessions", requireRecent: () => Effect.void }),
      Layer.mock(RateLimiter, { take: () => Effect.void })
    )
  ),
  Layer.provideMerge(storage),
  Layer.orDie
)

const countOutcome = (outcome: "paid" | "refused") =>
  Number(
    new RegExp(`^berth_payments_total\\{method="wallet",outcome="${outcome}"\\} (\\d+)$`, "m").exec(
      renderPrometheus()
    )?.[1] ?? 0
  )

const payee = WalletAddress.make(`0x${"ab".repeat(20)}`)
const wide: SpendLimits = { perCall: 100n, perDay: 1_000n, perAgent: 1_000n, confirmAbove: 100n }

const createPayer = (limits: SpendLimits) =>
  Effect.gen(function* () {
    const user = yield* insertUser()
    const userId = user.id
    const { id: agentId } = yield* insertAgent(userId)
    const key = yield* (yield* WalletKeys).generate
    const wallet = yield* (yield* UserWalletRepository).insert(userId, "user", { ...key, isSupplied: false })
    const { setBalance, setUsdc } = yield* WalletChainTest.WalletChainTest
    yield* setBalance(wallet.address, 10n ** 18n)
    yield* setUsdc(wallet.address, 10n ** 6n)
    yield* (yield* WalletPaymentRepository).saveLimits(agentId, limits)
    return { user, userId, sessionId: SessionId.make("ses_owner"), agentId, wallet }
  })
type Payer = Effect.Effect.Success<ReturnType<typeof createPayer>>

const request = (
  { agentId, userId }: Pick<Payer, "agentId" | "userId">,
  turnId: string,
  amount: bigint,
  fingerprint = "one"
) =>
  Effect.flatMap(WalletPayments, (payments) =>
    payments.request({ userId, agentId, turnId }, { kind: "send_usdc", amount, payee, resource: null, fingerprint })
  )

const reload = ({ agentId, id }: WalletPayment) =>
  Effect.flatMap(WalletPaymentRepository, ({ find }) =>
    agentId === null ? Effect.dieMessage("the agent is deleted") : Effect.flatten(find(agentId, id))
  )

const deleteAgent = (agentId: AgentId) => sql`delete from agents where id = ${agentId}`

/** Status and nonce of payments, including those of deleted agents, oldest first. */
const readLedger = ({ userId }: Payer) =>
  sql<{ status: string; nonce: string | null }>`
      select status, nonce from wallet_payments where user_id = ${userId} order by created_at, id`

/** Another process recovers only this payment a minute later: other tests have pending ones. */
const recoverLater = ({ id }: WalletPayment) =>
  Effect.gen(function* () {
    yield* sql`
      update wallet_payments set touched_at = now() + case id when ${id} then interval '-1 minute' else interval '1 hour' end`
    return yield* (yield* PaymentDispatch).recover
  })

layer(Live, { excludeTestServices: true })("Payments of an agent", (it) => {
  it.effect("WalletPayments.request reserves exactly up to the limit, however many calls run at once", () =>
    Effect.gen(function* () {
      for (const limits of [
        { ...wide, perDay: 10n },
        { ...wide, perAgent: 10n }
      ]) {
        const payer = yield* createPayer(limits)
        const outcomes = yield* Effect.all(
          Array.from({ length: 40 }, (_, index) => Effect.either(request(payer, `turn-${index}`, 1n))),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(outcomes.filter(Either.isRight), 10)
        assert.isTrue(outcomes.filter(Either.isLeft).every(({ left }) => left._tag === "SpendLimitExceeded"))
      }
    })
  )

  it.effect("WalletPayments.request makes one payment of equal calls in one turn, and another in the next turn", () =>
    Effect.gen(function* () {
      const payer = yield* createPayer(wide)
      const same = yield* Effect.all(
        Array.from({ length: 10 }, () => request(payer, "turn", 5n)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(same.map(({ id }) => id)).size, 1)
      assert.notStrictEqual((yield* request(payer, "next", 5n)).id, same[0]?.id)
      assert.notStrictEqual((yield* request(payer, "turn", 5n, "two")).id, same[0]?.id)
    })
  )

  it.effect(
    "PaymentDispatch.advance gives concurrent payments of a wallet nonces of their own, one transaction each",
    () =>
      Effect.gen(function* () {
        const payer = yield* createPayer(wide)
        const { advance } = yield* PaymentDispatch
        const reserved = yield* Effect.all(Array.from({ length: 8 }, (_, index) => request(payer, `turn-${index}`, 1n)))
        const done = yield* Effect.all(
          [...reserved, ...reserved].map((payment) => advance(payment)),
          { concurrency: "unbounded" }
        )
        assert.isTrue(done.every(({ status }) => status === "confirmed" || status === "reserved"))
        const stored = yield* Effect.all(reserved.map(reload))
        assert.deepStrictEqual(
          stored.map(({ signature }) => signature?.nonce ?? -1).toSorted((a, b) => a - b),
          Array.from({ length: 8 }, (_, index) => index)
        )
        assert.isTrue(stored.every(({ status }) => status === "confirmed"))
      })
  )

  const steps: ReadonlyArray<
    readonly [string, (chain: WalletChainTest.WalletChainBehavior) => Partial<WalletChainTest.WalletChainBehavior>]
  > = [
    ["before it reads the nonce", () => ({ readFeesAndNonce: () => Effect.interrupt })],
    ["after the signed transaction is stored", () => ({ broadcast: () => Effect.interrupt })],
    [
      "after the node accepted the transaction, whose answer is lost",
      (chain) => ({ broadcast: (raw) => Effect.zipRight(chain.broadcast(raw), Effect.interrupt) })
    ],
    ["before it reads the receipt", () => ({ findTransactionStatus: () => Effect.interrupt })]
  ]
  for (const [when, behavior] of steps)
    it.effect(`PaymentDispatch.recover sends the same payment once when its process died ${when}`, () =>
      Effect.gen(function* () {
        const payer = yield* createPayer(wide)
        const test = yield* WalletChainTest.WalletChainTest
        const { advance } = yield* PaymentDispatch
        const payment = yield* request(payer, "turn", 7n)
        const before = (yield* test.calls).length
        const died = yield* test.withBehavior(behavior(test.defaults))(Effect.exit(advance(payment)))
        assert.isTrue(Exit.isFailure(died))
        const between = yield* reload(payment)
        yield* recoverLater(payment)
        const after = yield* reload(payment)
        assert.strictEqual(after.status, "confirmed")
        if (between.signature !== null) assert.deepStrictEqual(after.signature, between.signature)
        const sent = (yield* test.calls).slice(before).filter(({ method }) => method === "broadcast")
        assert.strictEqual(new Set(sent.map(({ of }) => of)).size, 1)
        assert.strictEqual(yield* recoverLater(payment), 0)
      })
    )

  it.effect(
    "PaymentDispatch.advance leaves a payment where it is while the chain is away, and its amount reserved",
    () =>
      Effect.gen(function* () {
        const payer = yield* createPayer({ ...wide, perDay: 10n })
        const test = yield* WalletChainTest.WalletChainTest
        const { advance } = yield* PaymentDispatch
        const payment = yield* request(payer, "turn", 7n)
        const left = yield* test.withBehavior(test.away)(advance(payment))
        assert.strictEqual(left.status, "reserved")
        assert.strictEqual((yield* Effect.flip(request(payer, "next", 7n)))._tag, "SpendLimitExceeded")
        yield* recoverLater(payment)
        assert.strictEqual((yield* reload(payment)).status, "confirmed")
      })
  )

  it.effect("A payment without ETH for its fee fails before it is signed, and frees its amount", () =>
    Effect.gen(function* () {
      const payer = yield* createPayer({ ...wide, perDay: 10n })
      const { setBalance } = yield* WalletChainTest.WalletChainTest
      yield* setBalance(payer.wallet.address, 1n)
      const failed = yield* Effect.flatMap(request(payer, "turn", 7n), (payment) =>
        Effect.flatMap(PaymentDispatch, ({ advance }) => advance(payment))
      )
      assert.deepStrictEqual([failed.status, failed.signature], ["failed", null])
      assert.strictEqual((yield* request(payer, "next", 7n)).status, "reserved")
    })
  )

  it.effect("A payment whose wallet has the key of another user, and a reverted one, fail and free their amounts", () =>
    Effect.gen(function* () {
      const [payer, other] = [yield* createPayer({ ...wide, perDay: 10n }), yield* createPayer(wide)]
      const { advance } = yield* PaymentDispatch
      const test = yield* WalletChainTest.WalletChainTest
      const reverted = yield* Effect.flatMap(request(payer, "turn", 7n), advance).pipe(
        test.withBehavior({ findTransactionStatus: () => Effect.succeed("reverted") })
      )
      assert.deepStrictEqual([reverted.status, reverted.reason], ["failed", "the transfer was reverted"])
      yield* sql`
        update user_wallets set key_sealed = (select key_sealed from user_wallets where user_id = ${other.userId})
        where user_id = ${payer.userId}`
      const before = (yield* test.calls).length
      const keyless = yield* Effect.flatMap(request(payer, "next", 7n), advance)
      assert.deepStrictEqual([keyless.status, keyless.reason], ["failed", "the key of the wallet cannot be opened"])
      assert.lengthOf(yield* test.calls, before)
      assert.strictEqual((yield* request(payer, "last", 7n)).status, "reserved")
    })
  )

  it.effect("Of concurrent approvals and refusals of one payment one holds, and no approval exceeds a limit", () =>
    Effect.gen(function* () {
      const payer = yield* createPayer({ ...wide, perDay: 10n, confirmAbove: 1n })
      const payments = yield* WalletPayments
      const pending = yield* Effect.all([request(payer, "a", 6n), request(payer, "b", 6n)])
      assert.deepStrictEqual(
        pending.map(({ status }) => status),
        ["pending", "pending"]
      )
      const outcomes = yield* Effect.all(
        pending.flatMap(({ id }) => [
          Effect.either(payments.approve(payer, payer.agentId, id)),
          Effect.either(payments.approve(payer, payer.agentId, id))
        ]),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(outcomes.filter(Either.isRight), 1)
      const stored = yield* Effect.all(pending.map(reload))
      assert.deepStrictEqual(stored.map(({ status }) => status).toSorted(), ["pending", "reserved"])
    })
  )

  it.effect("An approved paid request is one payment in the turn that repeats it, however often the turn calls", () =>
    Effect.gen(function* () {
      const payer = yield* createPayer({ ...wide, confirmAbove: 1n })
      const payments = yield* WalletPayments
      const call = (turnId: string) =>
        payments.request(
          { userId: payer.userId, agentId: payer.agentId, turnId },
          { kind: "x402", amount: 6n, payee, resource: "https://paid.example/", fingerprint: "paid" }
        )
      const pending = yield* call("first")
      yield* payments.approve(payer, payer.agentId, pending.id)
      const repeated = yield* Effect.all([call("second"), call("second"), call("second")], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        repeated.map(({ id, status }) => [id, status]),
        Array.from({ length: 3 }, () => [pending.id, "reserved"])
      )
      assert.strictEqual((yield* payments.list(payer.agentId, { limit: 10, offset: 0 })).total, 1)
    })
  )

  it.effect("At most 20 payments of an agent wait for the owner, however many calls run at once", () =>
    Effect.gen(function* () {
      const payer = yield* createPayer({ ...wide, confirmAbove: 0n })
      const outcomes = yield* Effect.all(
        Array.from({ length: maximumPendingPayments + 5 }, (_, index) =>
          Effect.either(request(payer, `turn-${index}`, 1n))
        ),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(outcomes.filter(Either.isRight), maximumPendingPayments)
      assert.isTrue(outcomes.filter(Either.isLeft).every(({ left }) => left._tag === "PendingPaymentLimitReached"))
    })
  )

  it.effect(
    "A dropped transaction of a deleted agent is sent again, so that later transfers of the wallet are mined",
    () =>
      Effect.gen(function* () {
        const payer = yield* createPayer(wide)
        const test = yield* WalletChainTest.WalletChainTest
        const { advance } = yield* PaymentDispatch
        const [paid, refused] = [countOutcome("paid"), countOutcome("refused")]
        const dropped = yield* Effect.flatMap(request(payer, "turn", 7n), advance).pipe(
          test.withBehavior({ broadcast: () => Effect.void })
        )
        const waiting = yield* request(payer, "next", 8n)
        yield* deleteAgent(payer.agentId)
        const { id: agentId } = yield* insertAgent(payer.userId)
        yield* (yield* WalletPaymentRepository).saveLimits(agentId, wide)
        const later = yield* Effect.flatMap(request({ ...payer, agentId }, "turn", 9n), advance)
        assert.deepStrictEqual([later.status, later.signature?.nonce], ["confirmed", 1])
        yield* recoverLater(dropped)
        yield* recoverLater(waiting)
        assert.deepStrictEqual(yield* readLedger(payer), [
          { status: "confirmed", nonce: "0" },
          { status: "failed", nonce: null },
          { status: "confirmed", nonce: "1" }
        ])
        assert.deepStrictEqual([countOutcome("paid") - paid, countOutcome("refused") - refused], [2, 1])
      })
  )

  it.effect("Recovery takes payments of users in turn, the oldest of each first", () =>
    Effect.gen(function* () {
      const [many, few] = [yield* createPayer(wide), yield* createPayer(wide)]
      for (const [payer, count] of [
        [many, 5],
        [few, 2]
      ] as const)
        yield* Effect.all(Array.from({ length: count }, (_, index) => request(payer, `turn-${index}`, 1n)))
      const { listUnfinished } = yield* WalletPaymentRepository
      const order = (yield* listUnfinished(DateTime.add(yield* DateTime.now, { minutes: 1 }), 100)).flatMap(
        ({ turnId, userId }) =>
          userId === many.userId ? [`many ${turnId}`] : userId === few.userId ? [`few ${turnId}`] : []
      )
      assert.deepStrictEqual(order, [
        "many turn-0",
        "few turn-0",
        "many turn-1",
        "few turn-1",
        "many turn-2",
        "many turn-3",
        "many turn-4"
      ])
    })
  )

  it.effect("Retention deletes old decided payments, and their amounts still count, also after a revocation", () =>
    Effect.gen(function* () {
      const payer = yield* createPayer({ ...wide, perAgent: 20n, confirmAbove: 10n })
      const { advance } = yield* PaymentDispatch
      const repository = yield* WalletPaymentRepository
      const payments = yield* WalletPayments
      yield* Effect.flatMap(request(payer, "spent", 7n), advance)
      yield* request(payer, "pending", 11n)
      yield* request(payer, "reserved", 1n)
      yield* sql`update wallet_payments set created_at = created_at - interval '2 days' where user_id = ${payer.userId}`
      const before = DateTime.subtract(yield* DateTime.now, { days: 1 })
      const never = DateTime.unsafeMake(0)
      assert.strictEqual(yield* repository.prune({ confirmed: never, unpaid: never }), 0)
      yield* repository.prune({ confirmed: before, unpaid: before })
      assert.deepStrictEqual(
        (yield* readLedger(payer)).map(({ status }) => status),
        ["reserved"]
      )
      assert.strictEqual((yield* repository.sumSpent(payer.agentId, yield* DateTime.now)).total, 8n)
      yield* payments.revoke(payer.userId)
      yield* repository.saveLimits(payer.agentId, { ...wide, perAgent: 20n })
      assert.strictEqual((yield* Effect.flip(request(payer, "more", 13n)))._tag, "SpendLimitExceeded")
      assert.strictEqual((yield* request(payer, "rest", 12n)).status, "reserved")
    })
  )

  it.effect("Revoking access resets limits to zero and refuses pending payments", () =>
    Effect.gen(function* () {
      const payer = yield* createPayer({ ...wide, confirmAbove: 1n })
      const payments = yield* WalletPayments
      const pending = yield* request(payer, "turn", 6n)
      yield* payments.revoke(payer.userId)
      assert.strictEqual((yield* reload(pending)).status, "refused")
      assert.strictEqual((yield* payments.findLimits(payer.agentId)).perCall, 0n)
      assert.isTrue(Option.isSome(yield* (yield* UserWalletRepository).find(payer.userId, "user")))
    })
  )
})
