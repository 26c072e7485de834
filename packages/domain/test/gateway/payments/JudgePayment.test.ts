import { memoBinding, memoFor } from "@berth/domain/gateway/payments/AttributionMemo"
import { bindingOf, judgeMined, judgeSigned } from "@berth/domain/gateway/payments/JudgePayment"
import { ChainTransaction, type TokenTransfer } from "@berth/domain/gateway/payments/PaymentChain"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { challenge, digests, settings } from "./PaymentSamples.ts"

const bound = memoFor(digests, challenge)
const foreign = memoFor(digests, { ...challenge, id: "another" })
const elsewhere = memoFor(digests, { ...challenge, realm: "another.example" })

const good: TokenTransfer = {
  token: settings.currency.toLowerCase(),
  to: settings.recipient.toLowerCase(),
  amount: 10_000n,
  memo: undefined
}
const small = { ...good, amount: 9_999n }
const otherToken = { ...good, token: `0x20c0${"11".repeat(18)}` }
const otherRecipient = { ...good, to: `0x${"cd".repeat(20)}` }
const judge = (...transfers: ReadonlyArray<TokenTransfer>) => bindingOf(digests, challenge, transfers)

describe("Transfers", () => {
  for (const [name, transfers, verdict] of [
    ["that pay", [good], Either.right("none")],
    ["that pay more", [{ ...good, amount: 2n ** 255n }], Either.right("none")],
    ["that pay beside others", [otherToken, otherRecipient, small, good], Either.right("none")],
    ["with the memo", [{ ...good, memo: bound }], Either.right("this challenge")],
    ["with the memo in capitals", [{ ...good, memo: bound.toUpperCase() }], Either.right("this challenge")],
    ["with a memo of somebody's own", [{ ...good, memo: `0x${"11".repeat(32)}` }], Either.right("none")],
    ["of which one has the memo", [good, { ...good, memo: bound }], Either.right("this challenge")],
    ["with another's memo", [{ ...good, memo: foreign }], Either.left("memo of another challenge")],
    ["with a memo for elsewhere", [{ ...good, memo: elsewhere }], Either.left("memo of another challenge")],
    ["of which a small one has the memo", [good, { ...small, memo: bound }], Either.right("none")],
    ["that there are not", [], Either.left("no transfer")],
    ["of too little", [small], Either.left("underpaid")],
    ["of too little twice", [small, small], Either.left("underpaid")],
    ["of another token", [otherToken], Either.left("other token")],
    ["to somebody else", [otherRecipient], Either.left("other recipient")],
    ["of nothing that matters", [{ ...otherToken, to: otherRecipient.to }], Either.left("no transfer")]
  ] as const)
    it(name, () => assert.deepStrictEqual(judge(...transfers), verdict))

  it.prop("pay by amount exactly", [FastCheck.bigInt({ min: 0n, max: 20_000n })], ([amount]) => {
    assert.strictEqual(Either.isRight(judge({ ...good, amount })), amount >= challenge.amount)
  })
})

describe("A memo", () => {
  it.prop("binds to its challenge and to no other", [FastCheck.string(), FastCheck.string()], ([a, b]) => {
    const memo = memoFor(digests, { id: a, realm: "realm" })
    const to = (id: string) => memoBinding(digests, memo, { id, realm: "realm" })
    assert.strictEqual(to(a), "this challenge")
    if (a !== b) assert.strictEqual(to(b), "another challenge")
  })

  it("may name its client", () => {
    const named = `${bound.slice(0, 32)}${"77".repeat(10)}${bound.slice(52)}`
    assert.strictEqual(memoBinding(digests, named, challenge), "this challenge")
  })

  it("of another version, or no memo at all, is about something else", () => {
    for (const memo of [undefined, "", "0x", bound.slice(0, -2), `${bound}00`, bound.replace(/^(0x.{8})01/, "$102")])
      assert.strictEqual(memoBinding(digests, memo, challenge), "none")
  })
})

describe("A signed transaction", () => {
  const signed = {
    hash: "0x",
    raw: "0x",
    chainId: settings.chainId,
    transfers: [good],
    validAfter: undefined,
    validBefore: undefined,
    needsFeePayer: false
  }
  const now = 1000
  for (const [name, changes, verdict] of [
    ["is sent", {}, Either.right("none")],
    ["is sent within its window", { validAfter: 1000, validBefore: 1001 }, Either.right("none")],
    ["of another chain is not", { chainId: 1 }, Either.left("other chain")],
    ["that is not valid yet is not", { validAfter: 1001 }, Either.left("not valid now")],
    ["that is not valid any more is not", { validBefore: 1000 }, Either.left("not valid now")],
    ["whose fee nobody pays is not", { needsFeePayer: true }, Either.left("needs a fee payer")],
    ["that pays too little is not", { transfers: [small] }, Either.left("underpaid")]
  ] as const)
    it(name, () =>
      assert.deepStrictEqual(
        judgeSigned(digests, challenge, { chainId: settings.chainId, now }, { ...signed, ...changes }),
        verdict
      )
    )
})

describe("A transaction on the chain", () => {
  for (const [name, transaction, verdict] of [
    ["pays", ChainTransaction.Mined({ succeeded: true, transfers: [good] }), Either.right("none")],
    [
      "that failed does not",
      ChainTransaction.Mined({ succeeded: false, transfers: [good] }),
      Either.left("transaction has failed")
    ],
    ["that is not final does not", ChainTransaction.Pending(), Either.left("unconfirmed")],
    ["that nobody knows does not", ChainTransaction.Unknown(), Either.left("unconfirmed")]
  ] as const)
    it(name, () => assert.deepStrictEqual(judgeMined(digests, challenge, transaction), verdict))
})
