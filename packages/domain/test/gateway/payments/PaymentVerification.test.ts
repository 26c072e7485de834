import { classifyMemo, makeAttributionMemo } from "@berth/domain/gateway/payments/AttributionMemo"
import {
  determineMemoBinding,
  verifyMinedTransaction,
  verifySignedTransaction
} from "@berth/domain/gateway/payments/PaymentVerification"
import { ChainTransaction, type TokenTransfer } from "@berth/domain/gateway/payments/PaymentChain"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { sampleChallenge, samplePaymentDigests, samplePaymentTerms } from "./PaymentSamples.ts"

const bound = makeAttributionMemo(samplePaymentDigests, sampleChallenge)
const foreign = makeAttributionMemo(samplePaymentDigests, { ...sampleChallenge, id: "another" })
const elsewhere = makeAttributionMemo(samplePaymentDigests, { ...sampleChallenge, realm: "another.example" })

const good: TokenTransfer = {
  token: samplePaymentTerms.currency.toLowerCase(),
  to: samplePaymentTerms.recipient.toLowerCase(),
  amount: 10_000n,
  memo: undefined
}
const small = { ...good, amount: 9_999n }
const otherToken = { ...good, token: `0x20c0${"11".repeat(18)}` }
const otherRecipient = { ...good, to: `0x${"cd".repeat(20)}` }
const judge = (...transfers: ReadonlyArray<TokenTransfer>) =>
  determineMemoBinding(samplePaymentDigests, sampleChallenge, transfers)

const inWords = (verdict: ReturnType<typeof judge>) =>
  Either.match(verdict, { onLeft: (failure) => `refused: ${failure}`, onRight: (binding) => `good: ${binding}` })

describe("Transfers", () => {
  for (const [name, transfers, verdict] of [
    ["that pay", [good], "good: none"],
    ["that pay more", [{ ...good, amount: 2n ** 255n }], "refused: overpaid"],
    ["of which one pays the price and one more", [{ ...good, amount: 10_001n }, good], "good: none"],
    ["that pay beside others", [otherToken, otherRecipient, small, good], "good: none"],
    ["with the memo", [{ ...good, memo: bound }], "good: this challenge"],
    ["with the memo in capitals", [{ ...good, memo: bound.toUpperCase() }], "good: this challenge"],
    ["with a memo of somebody's own", [{ ...good, memo: `0x${"11".repeat(32)}` }], "good: none"],
    ["of which one has the memo", [good, { ...good, memo: bound }], "good: this challenge"],
    ["with another's memo", [{ ...good, memo: foreign }], "refused: memo of another challenge"],
    ["with a memo for elsewhere", [{ ...good, memo: elsewhere }], "refused: memo of another challenge"],
    ["of which a small one has the memo", [good, { ...small, memo: bound }], "good: none"],
    ["that there are not", [], "refused: no transfer"],
    ["of too little", [small], "refused: underpaid"],
    ["of too little twice", [small, small], "refused: underpaid"],
    ["of another token", [otherToken], "refused: other token"],
    ["to somebody else", [otherRecipient], "refused: other recipient"],
    ["of nothing that matters", [{ ...otherToken, to: otherRecipient.to }], "refused: no transfer"]
  ] as const)
    it(name, () => assert.strictEqual(inWords(judge(...transfers)), verdict))

  it.prop("Transfers pay with the exact amount only", [FastCheck.bigInt({ min: 0n, max: 20_000n })], ([amount]) => {
    assert.strictEqual(Either.isRight(judge({ ...good, amount })), amount === sampleChallenge.amount)
  })
})

describe("A memo", () => {
  it.prop("A memo is bound to its challenge and to no other", [FastCheck.string(), FastCheck.string()], ([a, b]) => {
    const memo = makeAttributionMemo(samplePaymentDigests, { id: a, realm: "realm" })
    const to = (id: string) => classifyMemo(samplePaymentDigests, memo, { id, realm: "realm" })
    assert.strictEqual(to(a), "this challenge")
    if (a !== b) assert.strictEqual(to(b), "another challenge")
  })

  it("A memo may name its client", () => {
    const named = `${bound.slice(0, 32)}${"77".repeat(10)}${bound.slice(52)}`
    assert.strictEqual(classifyMemo(samplePaymentDigests, named, sampleChallenge), "this challenge")
  })

  it("A memo of another version is not of this protocol", () => {
    for (const memo of [undefined, "", "0x", bound.slice(0, -2), `${bound}00`, bound.replace(/^(0x.{8})01/, "$102")])
      assert.strictEqual(classifyMemo(samplePaymentDigests, memo, sampleChallenge), "none")
  })
})

describe("A signed transaction", () => {
  const signed = {
    hash: "0x",
    raw: "0x",
    chainId: samplePaymentTerms.chainId,
    transfers: [good],
    validAfter: undefined,
    validBefore: undefined,
    needsFeePayer: false
  }
  const now = 1000
  for (const [name, changes, verdict] of [
    ["is sent", {}, "good: none"],
    ["is sent within its window", { validAfter: 1000, validBefore: 1001 }, "good: none"],
    ["of another chain is not", { chainId: 1 }, "refused: other chain"],
    ["that is not valid yet is not", { validAfter: 1001 }, "refused: not valid now"],
    ["that is not valid any more is not", { validBefore: 1000 }, "refused: not valid now"],
    ["whose fee nobody pays is not", { needsFeePayer: true }, "refused: needs a fee payer"],
    ["that pays too little is not", { transfers: [small] }, "refused: underpaid"]
  ] as const)
    it(name, () =>
      assert.strictEqual(
        inWords(
          verifySignedTransaction(
            samplePaymentDigests,
            sampleChallenge,
            { chainId: samplePaymentTerms.chainId, now },
            { ...signed, ...changes }
          )
        ),
        verdict
      )
    )
})

describe("A transaction on the chain", () => {
  for (const [name, transaction, verdict] of [
    ["pays", ChainTransaction.Mined({ succeeded: true, transfers: [good] }), "good: none"],
    [
      "that failed does not",
      ChainTransaction.Mined({ succeeded: false, transfers: [good] }),
      "refused: transaction has failed"
    ],
    ["that is not final does not", ChainTransaction.Pending(), "refused: unconfirmed"],
    ["that nobody knows does not", ChainTransaction.Unknown(), "refused: unconfirmed"]
  ] as const)
    it(name, () =>
      assert.strictEqual(inWords(verifyMinedTransaction(samplePaymentDigests, sampleChallenge, transaction)), verdict)
    )
})
