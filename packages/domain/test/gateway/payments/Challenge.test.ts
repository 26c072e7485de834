import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { makeChallenge, parseChallengeId } from "@berth/domain/gateway/payments/Challenge"
import {
  makeChallengeBody,
  ChallengeBody,
  formatChallengeHeader
} from "@berth/domain/gateway/payments/ChallengeMessage"
import { convertUsdToTokenUnits } from "@berth/domain/gateway/payments/PaidRequest"
import { PaymentReceipt, formatReceiptHeader, makePaymentReceipt } from "@berth/domain/gateway/payments/PaymentReceipt"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Encoding, Either, FastCheck, Option, Schema } from "effect"
import {
  sampleChallenge,
  samplePaymentDigests,
  makePaymentDigests,
  sampleChallengeSeed,
  samplePaymentSettings
} from "./PaymentSamples.ts"

const decoded = (text: string) =>
  Schema.decodeSync(Schema.parseJson())(Either.getOrThrow(Encoding.decodeBase64UrlString(text)))

/** The parameters of a header by the grammar of RFC 9110. */
const parametersOf = (header: string) =>
  Object.fromEntries(
    [...header.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/gi)].map(([, name = "", value = ""]) => [
      name,
      value.replaceAll(/\\(.)/g, "$1")
    ])
  )

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

describe("A challenge", () => {
  it("says what the draft wants to be told", () => {
    assert.deepStrictEqual(decoded(sampleChallenge.request), {
      amount: "10000",
      currency: samplePaymentSettings.currency,
      recipient: samplePaymentSettings.recipient,
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

  it.prop("is made again from the request and the id", [requests, seeds], ([asked, its]) => {
    const made = makeChallenge(samplePaymentDigests, samplePaymentSettings, asked, its)
    assert.deepStrictEqual(parseChallengeId(made.id), Option.some(its))
    assert.deepStrictEqual(makeChallenge(samplePaymentDigests, samplePaymentSettings, asked, its), made)
  })

  it.prop(
    "has another id as soon as anything is another",
    [requests, seeds, requests, seeds],
    ([asked, its, other, others]) => {
      const { id } = makeChallenge(samplePaymentDigests, samplePaymentSettings, asked, its)
      const changed = [
        ...(["route", "plugin", "amount", "body"] as const)
          .filter((part) => String(asked[part]) !== String(other[part]))
          .map((part) =>
            makeChallenge(samplePaymentDigests, samplePaymentSettings, { ...asked, [part]: other[part] }, its)
          ),
        ...(its.seed === others.seed
          ? []
          : [makeChallenge(samplePaymentDigests, samplePaymentSettings, asked, { ...its, seed: others.seed })]),
        ...(its.expires === others.expires
          ? []
          : [makeChallenge(samplePaymentDigests, samplePaymentSettings, asked, { ...its, expires: others.expires })]),
        makeChallenge(samplePaymentDigests, { ...samplePaymentSettings, realm: "berth.example:8443" }, asked, its),
        makeChallenge(samplePaymentDigests, { ...samplePaymentSettings, chainId: 4217 }, asked, its),
        makeChallenge(
          samplePaymentDigests,
          { ...samplePaymentSettings, currency: WalletAddress.make(`0x20c0${"11".repeat(18)}`) },
          asked,
          its
        ),
        makeChallenge(
          samplePaymentDigests,
          { ...samplePaymentSettings, recipient: WalletAddress.make(`0x${"cd".repeat(20)}`) },
          asked,
          its
        ),
        makeChallenge(makePaymentDigests("another secret"), samplePaymentSettings, asked, its)
      ]
      // What the id shows of itself is not what protects it.
      const proof = (text: string) => text.split(".")[0]
      for (const each of changed) assert.notStrictEqual(proof(each.id), proof(id))
    }
  )

  it("has an id that is read in one form only", () => {
    for (const id of [
      "",
      sampleChallenge.id.slice(1),
      `${sampleChallenge.id}x`,
      sampleChallenge.id.replace(".1", ".01"),
      sampleChallenge.id.replace(".", ".-"),
      sampleChallenge.id.replaceAll(".", "|"),
      sampleChallenge.id.replace(/\.\d+\./, ".999999999999."),
      `${sampleChallenge.id}\n`
    ])
      assert.isTrue(Option.isNone(parseChallengeId(id)), id)
  })

  it.prop("is a header of printable ASCII that says both sets of parameters", [requests, seeds], ([asked, its]) => {
    const made = makeChallenge(samplePaymentDigests, samplePaymentSettings, asked, its)
    const header = formatChallengeHeader(made)
    assert.match(header, /^Payment [\u0020-\u007e]+$/)
    const parameters = parametersOf(header)
    const { digest, expires, id, intent, method, opaque, realm } = made
    assert.deepInclude(parameters, { id, realm, method, intent, request: made.request, expires, digest, opaque })
    assert.deepInclude(parameters, {
      amount: String(asked.amount),
      currency: samplePaymentSettings.currency,
      recipient: samplePaymentSettings.recipient
    })
  })

  it("is a body with the members of both", () => {
    const body = makeChallengeBody(sampleChallenge, "expired")
    assert.deepStrictEqual(Schema.decodeSync(ChallengeBody)(Schema.encodeSync(ChallengeBody)(body)), body)
    assert.deepStrictEqual(body, {
      error: "payment_required",
      message: "The challenge has expired.",
      mpp: {
        scheme: "Payment",
        amount: "10000",
        currency: samplePaymentSettings.currency,
        recipient: samplePaymentSettings.recipient,
        description: "One call of generate-text",
        nonce: sampleChallenge.id,
        expiresAt: 1_772_366_700_000
      },
      type: "https://paymentauth.org/problems/payment-expired",
      title: "Payment Expired",
      status: 402,
      detail: "The challenge has expired.",
      challengeId: sampleChallenge.id
    })
  })

  it("has a receipt that can be read back", () => {
    const receipt = makePaymentReceipt({
      method: "tempo",
      settledAt: DateTime.unsafeMake(1_772_366_500_123),
      transactionHash: `0x${"12".repeat(32)}`
    })
    assert.deepStrictEqual(Schema.decodeUnknownSync(PaymentReceipt)(decoded(formatReceiptHeader(receipt))), receipt)
    assert.strictEqual(receipt.timestamp, "2026-03-01T12:01:40.123Z")
  })

  it("costs whole units, not one more for the noise of a fraction, and never nothing", () => {
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
