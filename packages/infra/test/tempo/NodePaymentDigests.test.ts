import { bindChallenge } from "@berth/domain/gateway/payments/Challenge"
import { encodeCanonicalJson } from "@berth/domain/gateway/payments/CanonicalJson"
import { make } from "@berth/infra/tempo/NodePaymentDigests"
import { generateTreasuryKey, deriveTreasuryAddress } from "@berth/infra/tempo/TreasuryKey"
import { assert, describe, it } from "@effect/vitest"
import { Either, Encoding, Redacted } from "effect"

const digests = make(Redacted.make("test-vector-secret"))
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

describe("The binding of a challenge", () => {
  for (const [id, request, others = {}] of vectors)
    it(`of ${JSON.stringify({ request, ...others })} is what others compute`, () =>
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

  it("rests on hash functions that are the known ones", () => {
    assert.strictEqual(digests.keccak256(""), "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
    assert.strictEqual(digests.keccak256("é"), make(Redacted.make("other")).keccak256("é"))
    assert.strictEqual(digests.sha256(new TextEncoder().encode("abc")), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
  })
})

describe("A treasury", () => {
  it("is the wallet of its key", () => {
    const key = Redacted.make("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
    assert.deepStrictEqual(
      Either.map(deriveTreasuryAddress(key), String),
      Either.right("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
    )
    assert.isTrue(Either.isRight(deriveTreasuryAddress(generateTreasuryKey())))
  })

  it("has no address without a key, and says nothing of what it was given instead", () => {
    for (const text of ["", "0x", "hunter2", `0x${"00".repeat(32)}`, `0x${"ff".repeat(32)}`, `0x${"11".repeat(31)}`]) {
      const address = deriveTreasuryAddress(Redacted.make(text))
      assert.isTrue(Either.isLeft(address), text)
      assert.notInclude(JSON.stringify(Either.merge(address)), "hunter2")
    }
  })
})
