import { signatureTolerance, verifySignature } from "@berth/domain/billing/events/CardEventSignature"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Either, FastCheck, Redacted } from "effect"
import { createHmac } from "node:crypto"

const hmacBy = (secret: string) => (bytes: Uint8Array) => createHmac("sha256", secret).update(bytes).digest("hex")
const secret = "whsec_test"
const digests: Parameters<typeof verifySignature>[0] = {
  hmacSha256: (key, data, encoding) => createHmac("sha256", Redacted.value(key)).update(data).digest(encoding),
  equal: (a, b) => Redacted.value(a) === Redacted.value(b)
}
const now = 1_800_000_000
const body = new TextEncoder().encode('{"id":"evt_1","text":"ä"}')

const signatureOf = (bytes: Uint8Array, at: number | string = now, by = secret) =>
  hmacBy(by)(Buffer.concat([Buffer.from(`${at}.`), bytes]))

const verdict = (header: string | undefined, bytes: Uint8Array = body, nowMillis = now * 1000) =>
  Either.match(verifySignature(digests, { header, body: bytes, secret: Redacted.make(secret), nowMillis }), {
    onLeft: ({ fault }) => fault,
    onRight: (signedAt) => {
      assert.isTrue(Number.isSafeInteger(signedAt))
      return "valid" as const
    }
  })

describe("The signature of an event", () => {
  it("An event's signature is valid for the exact bytes, alone and among others", () => {
    const v1 = signatureOf(body)
    const other = signatureOf(body, now, "whsec_old")
    for (const header of [
      `t=${now},v1=${v1}`,
      `v1=${v1},t=${now}`,
      `t=${now}, v1=${v1}`,
      `t=${now},v1=${other},v1=${v1}`,
      `t=${now},v1=${v1},v1=${other},v0=${other},x=y`
    ])
      assert.strictEqual(verdict(header), "valid", header)
  })

  it("An event's signature is invalid when it is missing, malformed, of another secret or of another scheme", () => {
    const v1 = signatureOf(body)
    const rows: ReadonlyArray<readonly [string | undefined, string]> = [
      [undefined, "missing"],
      ["", "missing"],
      ["  ", "missing"],
      ["nonsense", "malformed"],
      [v1, "malformed"],
      [`v1=${v1}`, "malformed"],
      [`t=${now}`, "malformed"],
      [`t=${now},v0=${v1}`, "malformed"],
      [`t=,v1=${v1}`, "malformed"],
      [`t=-${now},v1=${v1}`, "malformed"],
      [`t=${now}.0,v1=${v1}`, "malformed"],
      [`t=${now}e0,v1=${v1}`, "malformed"],
      [`t=${now},t=${now},v1=${v1}`, "malformed"],
      [`t=${now},v1=${v1.slice(1)}`, "malformed"],
      [`t=${now},v1=${v1}00`, "malformed"],
      [`t=${now},v1=${signatureOf(body, now, "whsec_other")}`, "wrong"],
      [`t=${now + 1},v1=${v1}`, "wrong"]
    ]
    for (const [header, fault] of rows) assert.strictEqual(verdict(header), fault, header ?? "none")
  })

  it("An event's signature is valid for five minutes before and after its time", () => {
    const tolerance = Duration.toSeconds(signatureTolerance)
    const signedAt = (at: number) => verdict(`t=${at},v1=${signatureOf(body, at)}`)
    assert.strictEqual(tolerance, 300)
    assert.strictEqual(signedAt(now - 300), "valid")
    assert.strictEqual(signedAt(now - 301), "too old")
    assert.strictEqual(signedAt(now + 300), "valid")
    assert.strictEqual(signedAt(now + 301), "from the future")
    assert.strictEqual(signedAt(0), "too old")
    assert.strictEqual(signedAt(999_999_999_999), "from the future")
  })

  it("An event's signature is valid for any bytes, and invalid when one differs", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.uint8Array({ minLength: 1, maxLength: 200 }),
        FastCheck.nat(),
        FastCheck.integer({ min: 1, max: 255 }),
        FastCheck.integer({ min: -300, max: 300 }),
        (bytes, index, change, age) => {
          const header = `t=${now - age},v1=${signatureOf(bytes, now - age)}`
          assert.strictEqual(verdict(header, bytes), "valid")
          const other = Uint8Array.from(bytes)
          const at = index % bytes.length
          other[at] = (bytes[at] ?? 0) ^ change
          assert.strictEqual(verdict(header, other), "wrong")
          assert.strictEqual(verdict(header, bytes.subarray(1)), "wrong")
        }
      ),
      { numRuns: 1_000 }
    )
  })

  it("An event's signature with a changed digit is invalid", () => {
    const v1 = signatureOf(body)
    for (let index = 0; index < v1.length; index++) {
      const digit = v1[index] === "0" ? "1" : "0"
      assert.strictEqual(verdict(`t=${now},v1=${v1.slice(0, index)}${digit}${v1.slice(index + 1)}`), "wrong")
    }
  })

  it("An event's signature is rejected for any other header", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ maxLength: 300 }), (header) => {
        assert.include(["missing", "malformed", "wrong"], verdict(header))
      }),
      { numRuns: 2_000 }
    )
  })
})
