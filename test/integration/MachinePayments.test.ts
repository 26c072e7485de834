import { ChainIsUnreachable } from "@berth/domain/chain/ChainErrors"
import { challengeLifetime } from "@berth/domain/gateway/payments/Challenge"
import type { PaidRequest } from "@berth/domain/gateway/payments/PaidRequest"
import { PaymentRedemptions, redemptionLease } from "@berth/domain/gateway/payments/PaymentRedemptions"
import * as LivePaymentDigests from "@berth/infra/tempo/PaymentDigests"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Layer, Redacted, TestClock } from "effect"
import { randomBytes } from "node:crypto"
import * as InMemoryNetwork from "../support/payments/InMemoryNetwork.ts"
import * as InMemoryRedemptions from "../support/payments/InMemoryRedemptions.ts"
import {
  call,
  draft,
  inAWord,
  machinePayments,
  memoOfAnother,
  payingTransfer,
  plain
} from "../support/payments/PaidCalls.ts"

/** One process's payments, on a chain and with a memory of their own; time passes when somebody waits for it. */
const scene = Effect.gen(function* () {
  yield* TestClock.setTime(1_772_366_400_000)
  const network = yield* InMemoryNetwork.make
  const redemptions = Context.get(yield* Layer.build(InMemoryRedemptions.layer), PaymentRedemptions)
  const payments = yield* machinePayments({ network, redemptions })

  const redeem = (credential: ReadonlyArray<string>, request: PaidRequest = call) =>
    Effect.gen(function* () {
      const redeeming = yield* Effect.forkDaemon(payments.redeem(credential, request))
      for (let waited = 0; waited < 200 && redeeming.unsafePoll() === null; waited++)
        yield* TestClock.adjust("250 millis")
      return yield* Fiber.join(redeeming)
    })
  /** Redeems, and says in a word how it went. */
  const outcome = (credential: ReadonlyArray<string>, request: PaidRequest = call) =>
    Effect.map(redeem(credential, request), inAWord)
  /** Redeems what must be paid for. */
  const paid = (credential: ReadonlyArray<string>, request: PaidRequest = call) =>
    Effect.flatMap(redeem(credential, request), (redeemed) =>
      redeemed._tag === "Paid" ? Effect.succeed(redeemed) : Effect.dieMessage(`was ${inAWord(redeemed)}`)
    )
  /** A transaction that is on the chain, sent by its payer. */
  const pushed = (transfers: Parameters<typeof network.sign>[0], oddities?: Parameters<typeof network.sign>[1]) =>
    Effect.tap(network.sign(transfers, oddities), network.chain.broadcast)

  return { network, redemptions, payments, redeem, outcome, paid, pushed, challenge: payments.challenge(call) }
})

const later = (time: Duration.Duration) => TestClock.adjust(time)

describe("A machine's payment", () => {
  for (const [name, memo, credential] of [
    ["a transaction in our own form", "none", plain],
    ["a transaction in the draft's form", "none", draft],
    ["a transaction with the memo", "bound", draft]
  ] as const)
    it.scoped(`by ${name} buys a call, once`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, paid, payments } = yield* scene
        const target = yield* challenge
        const raw = yield* network.sign([payingTransfer(target, memo)])
        const { claim, receipt } = yield* paid(credential(target, raw))
        assert.deepInclude(receipt, { status: "success", method: "tempo", reference: network.hashOf(raw) })
        assert.deepStrictEqual(yield* network.sent, [raw])
        assert.isTrue(yield* payments.answered(claim))
        assert.strictEqual(yield* outcome(credential(target, raw)), "challenge is used")
        assert.deepStrictEqual(yield* network.sent, [raw])
      })
    )

  for (const [name, credential] of [
    ["our own form", plain],
    ["the draft's form", draft]
  ] as const)
    it.scoped(`by the hash of one that its payer sent, in ${name}, buys a call, once`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, paid, payments, pushed } = yield* scene
        const target = yield* challenge
        const hash = network.hashOf(yield* pushed([payingTransfer(target, "bound")]))
        const { claim, receipt } = yield* paid(credential(target, hash))
        assert.strictEqual(receipt.reference, hash)
        assert.isTrue(yield* payments.answered(claim))
        assert.strictEqual(yield* outcome(credential(target, hash)), "challenge is used")
        assert.strictEqual((yield* network.sent).length, 1)
      })
    )

  it.scoped("is asked for anew each time, and what was asked is not stored", () =>
    Effect.gen(function* () {
      const { challenge, outcome, redeem, redemptions } = yield* scene
      const [one, two] = [yield* challenge, yield* challenge]
      assert.notStrictEqual(one.id, two.id)
      const unpaid = yield* redeem([])
      if (unpaid._tag !== "Unpaid") return assert.fail("was paid")
      assert.strictEqual(unpaid.failure, "no credential")
      assert.strictEqual(yield* outcome(["Payment x", "Payment y"]), "several credentials")
      for (const { id } of [one, two, unpaid.challenge])
        assert.strictEqual((yield* redemptions.transactionOf(id))._tag, "None")
    })
  )
})

describe("A credential is refused", () => {
  it.scoped("for a challenge that was not issued here, or not by this secret or under this name", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, redemptions } = yield* scene
      const target = yield* challenge
      const raw = yield* network.sign([payingTransfer(target)])
      const forger = yield* machinePayments({
        network,
        redemptions,
        digests: LivePaymentDigests.make(Redacted.make("another secret"))
      })
      const neighbour = yield* machinePayments({ network, redemptions, realm: "other.example" })
      for (const forged of [
        yield* forger.challenge(call),
        yield* neighbour.challenge(call),
        { ...target, id: target.id.replace(/^.{43}/, randomBytes(32).toString("base64url")) },
        { ...target, id: target.id.slice(0, 43) },
        { ...target, id: "" }
      ])
        for (const credential of [plain(forged, raw), draft({ ...target, ...forged }, raw)])
          assert.strictEqual(yield* outcome(credential), "not our challenge")
      assert.deepStrictEqual(yield* network.sent, [])
    })
  )

  it.scoped("for a challenge of which anything was changed", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome } = yield* scene
      const [target, other] = [yield* challenge, yield* challenge]
      const raw = yield* network.sign([payingTransfer(target)])
      const [proof = "", expires = "", seed = ""] = target.id.split(".")
      for (const id of [
        [proof, String(Number(expires) + 300), seed].join("."),
        [proof, expires, other.id.split(".")[2]].join("."),
        [other.id.split(".")[0], expires, seed].join(".")
      ])
        assert.strictEqual(yield* outcome(plain({ id }, raw)), "not our challenge")
      for (const [part, value] of [
        ["realm", "other.example"],
        ["intent", "session"],
        ["request", other.opaque],
        ["expires", "2030-01-01T00:00:00Z"],
        ["digest", undefined],
        ["opaque", other.opaque]
      ] as const)
        assert.strictEqual(yield* outcome(draft(target, raw, { [part]: value })), "not our challenge", part)
      assert.deepStrictEqual(yield* network.sent, [])
    })
  )

  for (const [what, request] of [
    ["route", { ...call, route: "POST /api/v2/gateway" }],
    ["plugin", { ...call, plugin: "agent" }],
    ["body", { ...call, body: new TextEncoder().encode('{"messages":[1]}') }],
    ["price", { ...call, amount: 50_000n }]
  ] as const)
    it.scoped(`with a request of another ${what}, before and after it has paid`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, paid } = yield* scene
        const target = yield* challenge
        const raw = yield* network.sign([payingTransfer(target)])
        assert.strictEqual(yield* outcome(plain(target, raw), request), "not our challenge")
        yield* paid(plain(target, raw))
        for (const credential of [plain(target, raw), draft(target, raw)])
          assert.strictEqual(yield* outcome(credential, request), "not our challenge")
      })
    )

  it.scoped("after its time, which is five minutes", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, paid } = yield* scene
      const [early, late] = [yield* challenge, yield* challenge]
      const raws = yield* Effect.forEach([early, late], (target) => network.sign([payingTransfer(target)]))
      yield* later(Duration.subtract(challengeLifetime, "1 second"))
      yield* paid(plain(early, raws[0] ?? ""))
      yield* later(Duration.seconds(1))
      assert.strictEqual(yield* outcome(plain(late, raws[1] ?? "")), "expired")
      assert.strictEqual((yield* network.sent).length, 1)
    })
  )

  for (const [failure, transfer, oddities] of [
    ["underpaid", { amount: 9_999n }, {}],
    ["other token", { token: `0x20c0${"00".repeat(17)}01` }, {}],
    ["other recipient", { to: `0x${"cd".repeat(20)}` }, {}],
    ["memo of another challenge", { memo: memoOfAnother }, {}],
    ["other chain", {}, { chainId: 4217 }],
    ["needs a fee payer", {}, { needsFeePayer: true }],
    ["not valid now", {}, { validBefore: 1_772_366_400 }],
    ["not valid now", {}, { validAfter: 1_772_366_401 }]
  ] as const)
    it.scoped(`when its transaction is wrong, which is not sent: ${failure}`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, redemptions } = yield* scene
        const target = yield* challenge
        const raw = yield* network.sign([{ ...payingTransfer(target), ...transfer }], oddities)
        for (const credential of [plain(target, raw), draft(target, raw)])
          assert.strictEqual(yield* outcome(credential), failure)
        assert.deepStrictEqual(yield* network.sent, [])
        assert.strictEqual((yield* redemptions.transactionOf(target.id))._tag, "None")
      })
    )

  it.scoped("when its transaction cannot be read", () =>
    Effect.gen(function* () {
      const { challenge, outcome } = yield* scene
      const target = yield* challenge
      assert.strictEqual(yield* outcome(plain(target, `0x76${"00".repeat(99)}`)), "unreadable transaction")
    })
  )

  for (const [failure, transfer, oddities] of [
    ["underpaid", { amount: 9_999n }, {}],
    ["other token", { token: `0x20c0${"00".repeat(17)}01` }, {}],
    ["other recipient", { to: `0x${"cd".repeat(20)}` }, {}],
    ["memo of another challenge", { memo: memoOfAnother }, {}],
    ["transaction has failed", {}, { reverts: true }]
  ] as const)
    it.scoped(`when the transaction that its payer sent is wrong: ${failure}`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, pushed, redemptions } = yield* scene
        const target = yield* challenge
        const raw = yield* pushed([{ ...payingTransfer(target, "bound"), ...transfer }], oddities)
        assert.strictEqual(yield* outcome(draft(target, network.hashOf(raw))), failure)
        assert.strictEqual((yield* redemptions.transactionOf(target.id))._tag, "None")
      })
    )

  it.scoped("when somebody else has paid: by the hash, by the bytes, with a memo and without", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, pushed } = yield* scene
      const [victim, thief] = [yield* challenge, yield* challenge]
      const bound = yield* pushed([payingTransfer(victim, "bound")])
      const bare = yield* pushed([payingTransfer(victim)])
      for (const form of [plain, draft]) {
        assert.strictEqual(yield* outcome(form(thief, network.hashOf(bound))), "memo of another challenge")
        assert.strictEqual(yield* outcome(form(thief, bound)), "memo of another challenge")
        assert.strictEqual(yield* outcome(form(thief, network.hashOf(bare))), "memo is missing")
        assert.strictEqual(yield* outcome(form(thief, bare)), "memo is missing")
      }
      assert.strictEqual(yield* outcome(draft(victim, network.hashOf(bound))), "Paid")
    })
  )

  it.scoped("when its transaction has paid for another challenge, or stands for one, by hash too", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, paid, payments } = yield* scene
      const [first, second] = [yield* challenge, yield* challenge]
      const raw = yield* network.sign([payingTransfer(first)])
      const { claim } = yield* paid(plain(first, raw))
      for (const isAnswered of [false, true]) {
        for (const form of [plain, draft]) {
          assert.strictEqual(yield* outcome(form(second, raw)), "memo is missing")
          assert.strictEqual(yield* outcome(form(second, network.hashOf(raw))), "memo is missing")
        }
        if (!isAnswered) yield* payments.answered(claim)
      }
      // One that was claimed and that the network has not seen.
      const unseen = yield* network.sign([payingTransfer(first)], { isUnfunded: true })
      const third = yield* challenge
      assert.strictEqual(yield* outcome(plain(third, unseen)), "transaction is refused")
      assert.strictEqual(yield* outcome(plain(second, unseen)), "transaction is used")
      assert.strictEqual(
        yield* outcome(plain(third, yield* network.sign([payingTransfer(third)]))),
        "challenge is used"
      )
    })
  )

  it.scoped("while its transaction is not final, and is good as soon as it is", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, pushed } = yield* scene
      const [pull, push] = [yield* challenge, yield* challenge]
      yield* network.setMining(false)
      const raw = yield* network.sign([payingTransfer(pull)])
      assert.strictEqual(yield* outcome(plain(pull, raw)), "unconfirmed")
      const hash = network.hashOf(yield* pushed([payingTransfer(push, "bound")]))
      assert.strictEqual(yield* outcome(draft(push, hash)), "unconfirmed")
      assert.strictEqual(yield* outcome(draft(push, `0x${"12".repeat(32)}`)), "unconfirmed")
      yield* network.setMining(true)
      assert.strictEqual(yield* outcome(plain(pull, raw)), "Paid")
      assert.strictEqual(yield* outcome(draft(push, hash)), "Paid")
    })
  )

  it.scoped("when its transaction was reverted or refused", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome } = yield* scene
      const [one, two] = [yield* challenge, yield* challenge]
      const reverted = yield* network.sign([payingTransfer(one)], { reverts: true })
      const refused = yield* network.sign([payingTransfer(two)], { isUnfunded: true })
      for (const _ of ["first", "again"]) {
        assert.strictEqual(yield* outcome(plain(one, reverted)), "transaction has failed")
        assert.strictEqual(yield* outcome(plain(two, refused)), "transaction is refused")
      }
    })
  )
})

describe("A payment that was begun", () => {
  it.scoped("is not refused for a chain that cannot be reached, and can be repeated", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, pushed, redeem } = yield* scene
      const [pull, push] = [yield* challenge, yield* challenge]
      const raw = yield* network.sign([payingTransfer(pull)])
      const hash = network.hashOf(yield* pushed([payingTransfer(push, "bound")]))
      yield* network.setUp(false)
      for (const credential of [plain(pull, raw), draft(push, hash)])
        assert.instanceOf(yield* Effect.flip(redeem(credential)), ChainIsUnreachable)
      yield* network.setUp(true)
      assert.strictEqual(yield* outcome(plain(pull, raw)), "Paid")
      assert.strictEqual(yield* outcome(draft(push, hash)), "Paid")
    })
  )

  for (const memo of ["none", "bound"] as const)
    it.scoped(`is found by its repetition when it was sent and nobody was told (memo ${memo})`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, redeem } = yield* scene
        const [target, other] = [yield* challenge, yield* challenge]
        const raw = yield* network.sign([payingTransfer(target, memo)])
        yield* network.setLosesAnswers(true)
        assert.instanceOf(yield* Effect.flip(redeem(plain(target, raw))), ChainIsUnreachable)
        yield* network.setLosesAnswers(false)
        // It is on the chain for all to see now, and belongs to its challenge still, though its time is over.
        yield* later(challengeLifetime)
        assert.notStrictEqual(yield* outcome(plain(other, raw)), "Paid")
        assert.strictEqual(yield* outcome(plain(target, raw)), "Paid")
        assert.deepStrictEqual(yield* network.sent, [raw])
      })
    )

  it.scoped("stays good for the same request until it is answered, long after its challenge", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, paid, payments } = yield* scene
      const target = yield* challenge
      const credential = plain(target, yield* network.sign([payingTransfer(target)]))
      const first = yield* paid(credential)
      assert.strictEqual(yield* outcome(credential), "InProgress")
      yield* payments.failed(first.claim)
      yield* later(Duration.days(7))
      const second = yield* paid(credential)
      assert.deepStrictEqual(second.receipt, first.receipt)
      assert.isFalse(yield* payments.answered(first.claim), "who has let go may not answer")
      assert.isTrue(yield* payments.answered(second.claim))
      assert.strictEqual(yield* outcome(credential), "challenge is used")
      assert.strictEqual((yield* network.sent).length, 1)
    })
  )

  it.scoped("passes on from a process that died, and stays with one that works", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, paid, payments } = yield* scene
      const target = yield* challenge
      const credential = plain(target, yield* network.sign([payingTransfer(target)]))
      const { claim } = yield* paid(credential)
      const working = yield* Effect.forkDaemon(payments.whileKept(claim, Effect.sleep("10 minutes")))
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* outcome(credential), "InProgress")
      yield* Fiber.interrupt(working)
      yield* later(redemptionLease)
      const heir = yield* paid(credential)
      assert.isFalse(yield* payments.answered(claim))
      assert.isTrue(yield* payments.answered(heir.claim))
    })
  )
})
