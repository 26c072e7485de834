import { bindChallenge } from "@berth/domain/gateway/payments/Challenge"
import { encodeCanonicalJson } from "@berth/domain/gateway/payments/CanonicalJson"
import { makePaymentDigests } from "@berth/domain/gateway/payments/PaymentDigests"
import * as NodeDigests from "@berth/infra/crypto/NodeDigests"
import { assert, describe, it } from "@effect/vitest"
import { Encoding, Redacted } from "effect"

const digests = makePaymentDigests(NodeDigests.digests, Redacted.make("test-vector-secret"))
const amount = { amount: "1000000" }
const expires = "2025-01-06T12:00:00Z"
const digest = "sha-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE"

// Published with mppx 0.11.0, of the same name and secret.
const vectors: ReadonlyArray<
  readonly [id: string, request: Parameters<typeof encodeCanonicalJson>[0], others?: object]
> = [
  ["X6v1eo7fJ76gAxqY0xN9Jd__4lUyDDYmriryOM-5FO4", amount],
  ["ChPX33RkKSZoSUyZcu8ai4hhkvjZJFkZVnvWs5s0iXI", amount, { expires }],
  ["JHB7EFsPVb-xsYCo8LHcOzeX1gfXWVoUSzQsZhKAfKM", amount, { digest }],
  ["m39jbWWCIfmfJZSwCfvKFFtBl0Qwf9X4nOmDb21peLA", amount, { expires, digest }],
  ["_H5TOnnlW0zduQ5OhQ3EyLVze_TqxLDPda2CGZPZxOc", { ...amount, recipient: "0xabcd", currency: "0x1234" }],
  [
    "TqujwpuDDg_zsWGINAd5XObO2rRe6uYufpqvtDmr6N8",
    { methodDetails: { chainId: 42_431 }, ...amount, currency: "0x1234" }
  ],
  ["yLN7yChAejW9WNmb54HpJIWpdb1WWXeA3_aCx4dxmkU", {}],
  ["3F5bOo2a9RUihdwKk4hGRvBvzQmVPBMDvW0YM-8GD00", amount, { realm: "payments.other.com" }],
  ["o0ra2sd7HcB4Ph0Vns69gRDUhSj5WNOnUopcDqKPLz4", amount, { method: "stripe" }],
  ["aAY7_IEDzsznNYplhOSE8cERQxvjFcT4Lcn-7FHjLVE", amount, { intent: "session" }]
]

describe("A payment challenge", () => {
  for (const [id, request, others = {}] of vectors)
    it(`PaymentDigests binds a challenge as mppx does for ${JSON.stringify({ request, ...others })}`, () =>
      assert.strictEqual(
        bindChallenge(digests, {
          realm: "api.example.com",
          method: "tempo",
          intent: "charge",
          request: Encoding.encodeBase64Url(encodeCanonicalJson(request)),
          expires: "",
          digest: "",
          opaque: "",
          ...others
        }),
        id
      ))

  it("PaymentDigests uses the standard hash functions with any secret", () => {
    assert.strictEqual(digests.keccak256(""), "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
    assert.strictEqual(
      digests.keccak256("é"),
      makePaymentDigests(NodeDigests.digests, Redacted.make("other")).keccak256("é")
    )
    assert.strictEqual(digests.sha256(new TextEncoder().encode("abc")), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
  })
})
