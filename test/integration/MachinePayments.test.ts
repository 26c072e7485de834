import { ChainUnreachable } from "@berth/domain/chain/Chain"
import { challengeLifetime } from "@berth/domain/gateway/payments/Challenge"
import type { PaidRequest } from "@berth/domain/gateway/payments/PaidRequest"
import { paidAnswerLifetime, PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import { leaseDuration } from "@berth/domain/limits/Lease"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Layer, Redacted, TestClock } from "effect"
import { randomBytes } from "node:crypto"
import * as PaymentChainTest from "@berth/infra/tempo/PaymentChainTest"
import * as InMemoryRedemptions from "../fakes/payments/InMemoryPaymentRedemptions.ts"
import {
  paidRequest,
  paidAnswer,
  draftCredential,
  redemptionLabel,
  makeMachinePayments,
  foreignMemo,
  makePayingTransfer,
  interfaceCredential
} from "../support/payments/PaymentFixtures.ts"

/** One process's payments on its own chain and store, with the test clock. */
const makeFixtures = Effect.gen(function* () {
  yield* TestClock.setTime(1_772_366_400_000)
  const network = yield* PaymentChainTest.make
  const redemptions = Context.get(yield* Layer.build(InMemoryRedemptions.layer), PaymentRedemptions)
  const payments = yield* makeMachinePayments({ network, redemptions })

  const redeem = (credential: ReadonlyArray<string>, request: PaidRequest = paidRequest) =>
    Effect.gen(function* () {
      const redeeming = yield* Effect.forkDaemon(payments.redeem(credential, request))
      for (let waited = 0; waited < 200 && redeeming.unsafePoll() === null; waited++)
        yield* TestClock.adjust("250 millis")
      return yield* Fiber.join(redeeming)
    })
  const outcome = (credential: ReadonlyArray<string>, request: PaidRequest = paidRequest) =>
    Effect.map(redeem(credential, request), redemptionLabel)
  const paid = (credential: ReadonlyArray<string>, request: PaidRequest = paidRequest) =>
    Effect.flatMap(redeem(credential, request), (redeemed) =>
      redeemed._tag === "Paid" ? Effect.succeed(redeemed) : Effect.dieMessage(`was ${redemptionLabel(redeemed)}`)
    )
  /** A mined transaction, sent by its payer. */
  const pushed = (transfers: Parameters<typeof network.sign>[0], oddities?: Parameters<typeof network.sign>[1]) =>
    Effect.tap(network.sign(transfers, oddities), network.chain.broadcast)

  return { network, redemptions, payments, redeem, outcome, paid, pushed, challenge: payments.challenge(paidRequest) }
})

const advanceClock = (time: Duration.Duration) => TestClock.adjust(time)

describe("A machine's payment", () => {
  for (const [name, memo, credential] of [
    ["a transaction in our own form", "none", interfaceCredential],
    ["a transaction in the draft's form", "none", draftCredential],
    ["a transaction with the memo", "bound", draftCredential]
  ] as const)
    it.scoped(`A machine's payment by ${name} buys one call`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, paid, payments } = yield* makeFixtures
        const target = yield* challenge
        const raw = yield* network.sign([makePayingTransfer(target, memo)])
        const { claim, receipt } = yield* paid(credential(target, raw))
        assert.deepInclude(receipt, { transactionHash: network.hashOf(raw) })
        assert.deepStrictEqual(yield* network.broadcastTransactions, [raw])
        assert.isTrue(yield* payments.complete(claim, paidAnswer))
        assert.strictEqual(yield* outcome(credential(target, raw)), "Answered")
        assert.deepStrictEqual(yield* network.broadcastTransactions, [raw])
      })
    )

  for (const [name, credential] of [
    ["our own form", interfaceCredential],
    ["the draft's form", draftCredential]
  ] as const)
    it.scoped(`A machine's payment by the hash of a sent transaction, in ${name}, buys one call`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, paid, payments, pushed } = yield* makeFixtures
        const target = yield* challenge
        const hash = network.hashOf(yield* pushed([makePayingTransfer(target, "bound")]))
        const { claim, receipt } = yield* paid(credential(target, hash))
        assert.strictEqual(receipt.transactionHash, hash)
        assert.isTrue(yield* payments.complete(claim, paidAnswer))
        assert.strictEqual(yield* outcome(credential(target, hash)), "Answered")
        assert.strictEqual((yield* network.broadcastTransactions).length, 1)
      })
    )

  it.scoped("A challenge is new for each request, and is not stored", () =>
    Effect.gen(function* () {
      const { challenge, outcome, redeem, redemptions } = yield* makeFixtures
      const [one, two] = [yield* challenge, yield* challenge]
      assert.notStrictEqual(one.id, two.id)
      const unpaid = yield* redeem([])
      if (unpaid._tag !== "Unpaid") return assert.fail("was paid")
      assert.strictEqual(unpaid.failure, "no credential")
      assert.strictEqual(yield* outcome(["Payment x", "Payment y"]), "several credentials")
      for (const { id } of [one, two, unpaid.challenge])
        assert.strictEqual((yield* redemptions.findTransaction(id))._tag, "None")
    })
  )
})

describe("A credential is refused", () => {
  it.scoped("A credential is rejected for a challenge that another service, secret or realm issued", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, redemptions } = yield* makeFixtures
      const target = yield* challenge
      const raw = yield* network.sign([makePayingTransfer(target)])
      const forger = yield* makeMachinePayments({
        network,
        redemptions,
        secret: Redacted.make("another secret")
      })
      const neighbor = yield* makeMachinePayments({ network, redemptions, realm: "other.example" })
      for (const forged of [
        yield* forger.challenge(paidRequest),
        yield* neighbor.challenge(paidRequest),
        { ...target, id: target.id.replace(/^.{43}/, randomBytes(32).toString("base64url")) },
        { ...target, id: target.id.slice(0, 43) },
        { ...target, id: "" }
      ])
        for (const credential of [interfaceCredential(forged, raw), draftCredential({ ...target, ...forged }, raw)])
          assert.strictEqual(yield* outcome(credential), "not our challenge")
      assert.deepStrictEqual(yield* network.broadcastTransactions, [])
    })
  )

  it.scoped("A credential is rejected for a challenge with any change", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome } = yield* makeFixtures
      const [target, other] = [yield* challenge, yield* challenge]
      const raw = yield* network.sign([makePayingTransfer(target)])
      const [proof = "", expires = "", seed = ""] = target.id.split(".")
      for (const id of [
        [proof, String(Number(expires) + 300), seed].join("."),
        [proof, expires, other.id.split(".")[2]].join("."),
        [other.id.split(".")[0], expires, seed].join(".")
      ])
        assert.strictEqual(yield* outcome(interfaceCredential({ id }, raw)), "not our challenge")
      for (const [part, value] of [
        ["realm", "other.example"],
        ["intent", "session"],
        ["request", other.opaque],
        ["expires", "2030-01-01T00:00:00Z"],
        ["digest", undefined],
        ["opaque", other.opaque]
      ] as const)
        assert.strictEqual(yield* outcome(draftCredential(target, raw, { [part]: value })), "not our challenge", part)
      assert.deepStrictEqual(yield* network.broadcastTransactions, [])
    })
  )

  for (const [what, request] of [
    ["route", { ...paidRequest, route: "POST /api/v2/gateway" }],
    ["plugin", { ...paidRequest, plugin: "agent" }],
    ["body", { ...paidRequest, body: new TextEncoder().encode('{"messages":[1]}') }]
  ] as const)
    it.scoped(`A credential is rejected with a request of another ${what}, before and after it has paid`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, paid } = yield* makeFixtures
        const target = yield* challenge
        const raw = yield* network.sign([makePayingTransfer(target)])
        assert.strictEqual(yield* outcome(interfaceCredential(target, raw), request), "not our challenge")
        yield* paid(interfaceCredential(target, raw))
        for (const credential of [interfaceCredential(target, raw), draftCredential(target, raw)])
          assert.strictEqual(yield* outcome(credential, request), "not our challenge")
      })
    )

  it.scoped("A credential with the id of another price is rejected", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome } = yield* makeFixtures
      const target = yield* challenge
      const changed = { id: target.id.replace(".10000.", ".1.") }
      assert.notStrictEqual(changed.id, target.id)
      const raw = yield* network.sign([{ ...makePayingTransfer(target), amount: 1n }])
      assert.strictEqual(yield* outcome(interfaceCredential(changed, raw)), "not our challenge")
      assert.deepStrictEqual(yield* network.broadcastTransactions, [])
    })
  )

  it.scoped("A credential is rejected after five minutes", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, paid } = yield* makeFixtures
      const [early, late] = [yield* challenge, yield* challenge]
      const raws = yield* Effect.forEach([early, late], (target) => network.sign([makePayingTransfer(target)]))
      yield* advanceClock(Duration.subtract(challengeLifetime, "1 second"))
      yield* paid(interfaceCredential(early, raws[0] ?? ""))
      yield* advanceClock(Duration.seconds(1))
      assert.strictEqual(yield* outcome(interfaceCredential(late, raws[1] ?? "")), "expired")
      assert.strictEqual((yield* network.broadcastTransactions).length, 1)
    })
  )

  for (const [failure, transfer, oddities] of [
    ["underpaid", { amount: 9_999n }, {}],
    ["other token", { token: `0x20c0${"00".repeat(17)}01` }, {}],
    ["other recipient", { to: `0x${"cd".repeat(20)}` }, {}],
    ["memo of another challenge", { memo: foreignMemo }, {}],
    ["other chain", {}, { chainId: 4217 }],
    ["needs a fee payer", {}, { needsFeePayer: true }],
    ["not valid now", {}, { validBefore: 1_772_366_400 }],
    ["not valid now", {}, { validAfter: 1_772_366_401 }]
  ] as const)
    it.scoped(`A credential is rejected for a wrong transaction, which is not sent: ${failure}`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, redemptions } = yield* makeFixtures
        const target = yield* challenge
        const raw = yield* network.sign([{ ...makePayingTransfer(target), ...transfer }], oddities)
        for (const credential of [interfaceCredential(target, raw), draftCredential(target, raw)])
          assert.strictEqual(yield* outcome(credential), failure)
        assert.deepStrictEqual(yield* network.broadcastTransactions, [])
        assert.strictEqual((yield* redemptions.findTransaction(target.id))._tag, "None")
      })
    )

  it.scoped("A credential is rejected when its transaction is malformed", () =>
    Effect.gen(function* () {
      const { challenge, outcome } = yield* makeFixtures
      const target = yield* challenge
      assert.strictEqual(
        yield* outcome(interfaceCredential(target, `0x76${"00".repeat(99)}`)),
        "unreadable transaction"
      )
    })
  )

  for (const [failure, transfer, oddities] of [
    ["underpaid", { amount: 9_999n }, {}],
    ["other token", { token: `0x20c0${"00".repeat(17)}01` }, {}],
    ["other recipient", { to: `0x${"cd".repeat(20)}` }, {}],
    ["memo of another challenge", { memo: foreignMemo }, {}],
    ["transaction has failed", {}, { reverts: true }]
  ] as const)
    it.scoped(`A credential is rejected for a wrong transaction that its payer sent: ${failure}`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, pushed, redemptions } = yield* makeFixtures
        const target = yield* challenge
        const raw = yield* pushed([{ ...makePayingTransfer(target, "bound"), ...transfer }], oddities)
        assert.strictEqual(yield* outcome(draftCredential(target, network.hashOf(raw))), failure)
        assert.strictEqual((yield* redemptions.findTransaction(target.id))._tag, "None")
      })
    )

  it.scoped("A credential is rejected when another payer paid: by hash or bytes, with a memo and without", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, pushed } = yield* makeFixtures
      const [victim, thief] = [yield* challenge, yield* challenge]
      const bound = yield* pushed([makePayingTransfer(victim, "bound")])
      const bare = yield* pushed([makePayingTransfer(victim)])
      for (const form of [interfaceCredential, draftCredential]) {
        assert.strictEqual(yield* outcome(form(thief, network.hashOf(bound))), "memo of another challenge")
        assert.strictEqual(yield* outcome(form(thief, bound)), "memo of another challenge")
        assert.strictEqual(yield* outcome(form(thief, network.hashOf(bare))), "memo is missing")
        assert.strictEqual(yield* outcome(form(thief, bare)), "memo is missing")
      }
      assert.strictEqual(yield* outcome(draftCredential(victim, network.hashOf(bound))), "Paid")
    })
  )

  it.scoped("A credential is rejected when its transaction belongs to another challenge, by hash too", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, paid, payments } = yield* makeFixtures
      const [first, second] = [yield* challenge, yield* challenge]
      const raw = yield* network.sign([makePayingTransfer(first)])
      const { claim } = yield* paid(interfaceCredential(first, raw))
      for (const isAnswered of [false, true]) {
        for (const form of [interfaceCredential, draftCredential]) {
          assert.strictEqual(yield* outcome(form(second, raw)), "memo is missing")
          assert.strictEqual(yield* outcome(form(second, network.hashOf(raw))), "memo is missing")
        }
        if (!isAnswered) yield* payments.complete(claim, paidAnswer)
      }
      // A claimed transaction that the network has not received.
      const unseen = yield* network.sign([makePayingTransfer(first)], { isUnfunded: true })
      const third = yield* challenge
      assert.strictEqual(yield* outcome(interfaceCredential(third, unseen)), "transaction is refused")
      assert.strictEqual(yield* outcome(interfaceCredential(second, unseen)), "transaction is used")
      assert.strictEqual(
        yield* outcome(interfaceCredential(third, yield* network.sign([makePayingTransfer(third)]))),
        "challenge is used"
      )
    })
  )

  it.scoped("A credential is rejected while its transaction is not final, and accepted afterwards", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, pushed } = yield* makeFixtures
      const [pull, push] = [yield* challenge, yield* challenge]
      yield* network.setMining(false)
      const raw = yield* network.sign([makePayingTransfer(pull)])
      assert.strictEqual(yield* outcome(interfaceCredential(pull, raw)), "unconfirmed")
      const hash = network.hashOf(yield* pushed([makePayingTransfer(push, "bound")]))
      assert.strictEqual(yield* outcome(draftCredential(push, hash)), "unconfirmed")
      assert.strictEqual(yield* outcome(draftCredential(push, `0x${"12".repeat(32)}`)), "unconfirmed")
      yield* network.setMining(true)
      assert.strictEqual(yield* outcome(interfaceCredential(pull, raw)), "Paid")
      assert.strictEqual(yield* outcome(draftCredential(push, hash)), "Paid")
    })
  )

  it.scoped("A credential is rejected when its transaction was reverted or refused", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome } = yield* makeFixtures
      const [one, two] = [yield* challenge, yield* challenge]
      const reverted = yield* network.sign([makePayingTransfer(one)], { reverts: true })
      const refused = yield* network.sign([makePayingTransfer(two)], { isUnfunded: true })
      for (const _ of ["first", "again"]) {
        assert.strictEqual(yield* outcome(interfaceCredential(one, reverted)), "transaction has failed")
        assert.strictEqual(yield* outcome(interfaceCredential(two, refused)), "transaction is refused")
      }
    })
  )
})

describe("A challenge", () => {
  it.scoped("A challenge stays valid at its own price when the price of the call changes", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome } = yield* makeFixtures
      const target = yield* challenge
      const dearer = { ...paidRequest, amount: 50_000n }
      const short = yield* network.sign([{ ...makePayingTransfer(target), amount: 9_999n }])
      assert.strictEqual(yield* outcome(interfaceCredential(target, short), dearer), "underpaid")
      const more = yield* network.sign([{ ...makePayingTransfer(target), amount: 10_001n }])
      assert.strictEqual(yield* outcome(interfaceCredential(target, more), dearer), "overpaid")
      const raw = yield* network.sign([makePayingTransfer(target)])
      assert.strictEqual(yield* outcome(interfaceCredential(target, raw), dearer), "Paid")
    })
  )
})

describe("A payment that was begun", () => {
  it.scoped("A started payment is not rejected while the chain is unreachable, and can be repeated", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, pushed, redeem } = yield* makeFixtures
      const [pull, push] = [yield* challenge, yield* challenge]
      const raw = yield* network.sign([makePayingTransfer(pull)])
      const hash = network.hashOf(yield* pushed([makePayingTransfer(push, "bound")]))
      yield* network.setAvailable(false)
      for (const credential of [interfaceCredential(pull, raw), draftCredential(push, hash)])
        assert.instanceOf(yield* Effect.flip(redeem(credential)), ChainUnreachable)
      yield* network.setAvailable(true)
      assert.strictEqual(yield* outcome(interfaceCredential(pull, raw)), "Paid")
      assert.strictEqual(yield* outcome(draftCredential(push, hash)), "Paid")
    })
  )

  for (const memo of ["none", "bound"] as const)
    it.scoped(`A started payment is found by a repetition after a lost response (memo ${memo})`, () =>
      Effect.gen(function* () {
        const { challenge, network, outcome, redeem } = yield* makeFixtures
        const [target, other] = [yield* challenge, yield* challenge]
        const raw = yield* network.sign([makePayingTransfer(target, memo)])
        yield* network.setDropsResponses(true)
        assert.instanceOf(yield* Effect.flip(redeem(interfaceCredential(target, raw))), ChainUnreachable)
        yield* network.setDropsResponses(false)
        // The transaction is public now, but bound to its challenge even after the challenge has expired.
        yield* advanceClock(challengeLifetime)
        assert.notStrictEqual(yield* outcome(interfaceCredential(other, raw)), "Paid")
        assert.strictEqual(yield* outcome(interfaceCredential(target, raw)), "Paid")
        assert.deepStrictEqual(yield* network.broadcastTransactions, [raw])
      })
    )

  it.scoped("A started payment stays valid for its request until it is answered, long after its challenge", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, paid, payments } = yield* makeFixtures
      const target = yield* challenge
      const credential = interfaceCredential(target, yield* network.sign([makePayingTransfer(target)]))
      const first = yield* paid(credential)
      assert.strictEqual(yield* outcome(credential), "InProgress")
      yield* payments.release(first.claim)
      yield* advanceClock(Duration.days(7))
      const second = yield* paid(credential)
      assert.deepStrictEqual(second.receipt, first.receipt)
      assert.isFalse(yield* payments.complete(first.claim, paidAnswer), "who has let go may not answer")
      assert.isTrue(yield* payments.complete(second.claim, paidAnswer))
      assert.strictEqual(yield* outcome(credential), "Answered")
      yield* advanceClock(paidAnswerLifetime)
      assert.strictEqual(yield* outcome(credential), "challenge is used")
      assert.strictEqual((yield* network.broadcastTransactions).length, 1)
    })
  )

  it.scoped("A started payment passes on from a dead process, and stays with a working one", () =>
    Effect.gen(function* () {
      const { challenge, network, outcome, paid, payments } = yield* makeFixtures
      const target = yield* challenge
      const credential = interfaceCredential(target, yield* network.sign([makePayingTransfer(target)]))
      const { claim } = yield* paid(credential)
      const working = yield* Effect.forkDaemon(payments.whileClaimed(claim, Effect.sleep("10 minutes")))
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* outcome(credential), "InProgress")
      yield* Fiber.interrupt(working)
      yield* advanceClock(leaseDuration)
      const heir = yield* paid(credential)
      assert.isFalse(yield* payments.complete(claim, paidAnswer))
      assert.isTrue(yield* payments.complete(heir.claim, paidAnswer))
    })
  )
})
