import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { makeChallenge, parseChallengeId } from "@berth/domain/gateway/payments/Challenge"
import { convertUsdToTokenUnits } from "@berth/domain/gateway/payments/PaidRequest"
import { assert, describe, it } from "@effect/vitest"
import { Encoding, Either, FastCheck, Option, Schema } from "effect"
import {
  sampleChallenge,
  samplePaymentDigests,
  makePaymentDigests,
  sampleChallengeSeed,
  samplePaymentTerms
} from "./PaymentSamples.ts"

const decoded = (text: string) =>
  Schema.decodeSync(Schema.parseJson())(Either.getOrThrow(Encoding.decodeBase64UrlString(text)))

const bytes = FastCheck.uint8Array({ maxLength: 40 })
const words = FastCheck.string({ maxLength: 20 })
const requests = FastCheck.record({
  route: words,
  plugin: words,
  amount: FastCheck.bigInt({ min: 1n, max: 2n ** 128n }),
  description: words,
  body: bytes
})
const seeds = FastCheck.record({
  expires: FastCheck.integer({ min: 0, max: 99_999_999_999 }),
  seed: FastCheck.stringMatching(/^[A-Za-z0-9_-]{16}$/)
})

describe("makeChallenge", () => {
  it("makeChallenge encodes the parts of the draft", () => {
    assert.deepStrictEqual(decoded(sampleChallenge.request), {
      amount: "10000",
      currency: samplePaymentTerms.currency,
      recipient: samplePaymentTerms.recipient,
      methodDetails: { chainId: 42_431 }
    })
    assert.deepStrictEqual(decoded(sampleChallenge.opaque), {
      plugin: "generate-text",
      route: "POST /api/v1/gateway",
      seed: sampleChallengeSeed.seed
    })
    assert.deepInclude(sampleChallenge, { realm: "berth.example", method: "tempo", intent: "charge" })
    assert.strictEqual(sampleChallenge.expires, "2026-03-01T12:05:00Z")
    // RFC 9530: a byte sequence of structured fields.
    assert.match(sampleChallenge.digest, /^sha-256=:[A-Za-z0-9+/]{43}=:$/)
  })

  it.prop("makeChallenge returns equal challenges for request and parsed id", [requests, seeds], ([requested, its]) => {
    const made = makeChallenge(samplePaymentDigests, samplePaymentTerms, requested, its)
    assert.deepStrictEqual(parseChallengeId(made.id), Option.some({ ...its, amount: requested.amount }))
    assert.deepStrictEqual(makeChallenge(samplePaymentDigests, samplePaymentTerms, requested, its), made)
  })

  it.prop(
    "makeChallenge returns another id when any part differs",
    [requests, seeds, requests, seeds],
    ([requested, its, other, others]) => {
      const { id } = makeChallenge(samplePaymentDigests, samplePaymentTerms, requested, its)
      const changed = [
        ...(["route", "plugin", "amount", "body"] as const)
          .filter((part) => String(requested[part]) !== String(other[part]))
          .map((part) =>
            makeChallenge(samplePaymentDigests, samplePaymentTerms, { ...requested, [part]: other[part] }, its)
          ),
        ...(its.seed === others.seed
          ? []
          : [makeChallenge(samplePaymentDigests, samplePaymentTerms, requested, { ...its, seed: others.seed })]),
        ...(its.expires === others.expires
          ? []
          : [makeChallenge(samplePaymentDigests, samplePaymentTerms, requested, { ...its, expires: others.expires })]),
        makeChallenge(samplePaymentDigests, { ...samplePaymentTerms, realm: "berth.example:8443" }, requested, its),
        makeChallenge(samplePaymentDigests, { ...samplePaymentTerms, chainId: 4217 }, requested, its),
        makeChallenge(
          samplePaymentDigests,
          { ...samplePaymentTerms, currency: WalletAddress.make(`0x20c0${"11".repeat(18)}`) },
          requested,
          its
        ),
        makeChallenge(
          samplePaymentDigests,
          { ...samplePaymentTerms, recipient: WalletAddress.make(`0x${"cd".repeat(20)}`) },
          requested,
          its
        ),
        makeChallenge(makePaymentDigests("another secret"), samplePaymentTerms, requested, its)
      ]
      // The HMAC alone protects the id.
      const proof = (text: string) => text.split(".")[0]
      for (const each of changed) assert.notStrictEqual(proof(each.id), proof(id))
    }
  )

  it("makeChallenge makes ids that parse in one form only", () => {
    for (const id of [
      "",
      sampleChallenge.id.slice(1),
      `${sampleChallenge.id}x`,
      sampleChallenge.id.replace(".1", ".01"),
      sampleChallenge.id.replace(".", ".-"),
      sampleChallenge.id.replaceAll(".", "|"),
      sampleChallenge.id.replace(/\.\d+\./, ".999999999999."),
      sampleChallenge.id.replace(".10000.", ".010000."),
      sampleChallenge.id.replace(".10000.", ".-1."),
      `${sampleChallenge.id}\n`
    ])
      assert.isTrue(Option.isNone(parseChallengeId(id)), id)
  })

  it("convertUsdToTokenUnits returns whole units, rounded up, without binary rounding errors", () => {
    assert.deepStrictEqual([0.05, 0.01, 0.03, 0.02, 0.07, 1.1, 19.99, 0.000_000_1, 0].map(convertUsdToTokenUnits), [
      50_000n,
      10_000n,
      30_000n,
      20_000n,
      70_000n,
      1_100_000n,
      19_990_000n,
      1n,
      1n
    ])
  })
})
