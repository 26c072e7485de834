import {
  matchesChallengeEcho,
  maximumPaymentCredentialLength,
  parsePaymentCredential,
  PaymentProof
} from "@berth/domain/gateway/payments/PaymentCredential"
import type { PaymentFailure } from "@berth/domain/gateway/payments/PaymentFailure"
import { assert, describe, it } from "@effect/vitest"
import { Either, Encoding, FastCheck, Option } from "effect"
import { sampleChallenge } from "./PaymentSamples.ts"

const { digest, expires, id, intent, method, opaque, realm, request } = sampleChallenge
const echo = { id, realm, method, intent, request, expires, digest, opaque }
const hash = `0x${"12".repeat(32)}`
const raw = `0x76${"34".repeat(200)}`
const encoded = (value: unknown) => `Payment ${Encoding.encodeBase64Url(JSON.stringify(value))}`
const plain = { scheme: "Payment", transaction: raw, challengeNonce: id }
const draft = { challenge: echo, payload: { type: "transaction", signature: raw } }

/** A credential with a member that ends in a lone UTF-8 lead byte. */
const illFormed = Uint8Array.from(JSON.stringify({ ...plain, note: "\u00c3" }), (character) => character.charCodeAt(0))

const byHash = PaymentProof.Hash({ hash })
const byTransaction = PaymentProof.Transaction({ raw })

describe("A payment credential", () => {
  for (const [name, value, proof, echoed] of [
    ["of the draft with a transaction", encoded(draft), byTransaction, true],
    ["of the draft with a hash", encoded({ ...draft, payload: { type: "hash", hash } }), byHash, true],
    ["of the draft with its source", encoded({ ...draft, source: "did:pkh:eip155:1:0x00" }), byTransaction, true],
    ["of our own with a transaction", encoded(plain), byTransaction, false],
    ["of our own with a hash", encoded({ ...plain, transaction: hash }), byHash, false],
    ["of our own as it is", `Payment ${JSON.stringify(plain)}`, byTransaction, false],
    ["of our own as people write it", `payment   ${JSON.stringify(plain, null, 1)}  `, byTransaction, false],
    ["in capitals", encoded({ ...plain, transaction: hash.toUpperCase() }), byHash, false],
    ["beside another scheme", `Bearer abc.def, ${encoded(plain)}`, byTransaction, false]
  ] as const)
    it(`parsePaymentCredential reads ${name}`, () =>
      assert.deepStrictEqual(
        parsePaymentCredential([value]),
        Either.right({ challengeId: id, echo: echoed ? Option.some(echo) : Option.none(), proof })
      ))

  const failures: ReadonlyArray<readonly [PaymentFailure, ...ReadonlyArray<string>]> = [
    ["no credential"],
    ["no credential", ""],
    ["no credential", "Payment"],
    ["no credential", "Bearer abc", "Basic def"],
    ["no credential", "Payments abc"],
    ["several credentials", encoded(plain), encoded(plain)],
    ["several credentials", `${encoded(plain)}, ${encoded(draft)}`],
    ["several credentials", `Payment ${JSON.stringify(plain)}, Payment ${JSON.stringify(plain)}`],
    ["unreadable credential", "Payment !"],
    ["unreadable credential", "Payment {"],
    ["unreadable credential", `Payment ${Encoding.encodeBase64Url(illFormed)}`],
    ["unreadable credential", `Payment ${[...illFormed].map((byte) => String.fromCharCode(byte)).join("")}`],
    ["unreadable credential", encoded(null)],
    ["unreadable credential", encoded([])],
    ["unreadable credential", encoded({ ...plain, scheme: "Bearer" })],
    ["unreadable credential", encoded({ ...plain, challengeNonce: 1 })],
    ["unreadable credential", encoded({ ...draft, challenge: { ...echo, opaque: { seed: "x" } } })],
    ["unreadable credential", `Payment ${"A".repeat(maximumPaymentCredentialLength)}`],
    ["other method", encoded({ ...draft, challenge: { ...echo, method: "stripe" } })],
    ["other proof", encoded({ ...draft, payload: { type: "proof", signature: raw } })],
    ["other proof", encoded({ ...draft, payload: { type: "hash", hash: raw } })],
    ["other proof", encoded({ ...draft, payload: { type: "transaction", signature: hash } })],
    ["other proof", encoded({ ...plain, transaction: "0x" })],
    ["other proof", encoded({ ...plain, transaction: hash.slice(2) })],
    ["other proof", encoded({ ...plain, transaction: `${raw}0` })],
    ["other proof", encoded({ ...plain, transaction: `${hash}\n` })]
  ]
  for (const [failure, ...values] of failures)
    it(`${JSON.stringify(values).slice(0, 70)} is refused: ${failure}`, () =>
      assert.deepStrictEqual(parsePaymentCredential(values), Either.left(failure)))

  it.prop(
    "parsePaymentCredential accepts any input",
    [FastCheck.array(FastCheck.string(), { maxLength: 3 })],
    ([values]) => {
      parsePaymentCredential(values)
      parsePaymentCredential(values.map((value) => `Payment ${value}`))
      parsePaymentCredential(values.map((value) => encoded({ ...plain, transaction: value })))
      parsePaymentCredential(values.map((value) => `Payment ${Encoding.encodeBase64Url(value)}`))
    }
  )

  it("A payment credential of the draft must repeat the challenge exactly", () => {
    assert.isTrue(matchesChallengeEcho(sampleChallenge, Option.none()))
    assert.isTrue(matchesChallengeEcho(sampleChallenge, Option.some(echo)))
    for (const part of ["id", "realm", "method", "intent", "request", "expires", "digest", "opaque"] as const)
      for (const other of ["", `${echo[part]}x`, echo[part].toUpperCase()].filter((text) => text !== echo[part]))
        assert.isFalse(matchesChallengeEcho(sampleChallenge, Option.some({ ...echo, [part]: other })), part)
    for (const part of ["expires", "digest", "opaque"] as const) {
      const { [part]: _, ...rest } = echo
      assert.isFalse(matchesChallengeEcho(sampleChallenge, Option.some(rest)), part)
    }
    assert.isFalse(matchesChallengeEcho(sampleChallenge, Option.some({ ...echo, header: "Payment-Authorization" })))
  })
})
