import { validatePasswordLength, maximumPasswordBytes } from "@berth/domain/accounts/password/Password"
import { parseReferralCode, makeReferralCode } from "@berth/domain/accounts/referrals/ReferralCode"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Option, Redacted } from "effect"

const isAccepted = (text: string) => Either.isRight(validatePasswordLength(Redacted.make(text)))

describe("acceptPassword", () => {
  it("wants eight characters, counted as people count them", () => {
    assert.isFalse(isAccepted("1234567"))
    assert.isTrue(isAccepted("12345678"))
    assert.isFalse(isAccepted("😀😀😀😀"))
    assert.isTrue(isAccepted("😀😀😀😀😀😀😀😀"))
  })
  it("takes 1,024 bytes and not one more", () => {
    assert.isTrue(isAccepted("é".repeat(maximumPasswordBytes / 2)))
    assert.isFalse(isAccepted(`${"é".repeat(maximumPasswordBytes / 2)}a`))
  })
  it.prop(
    "agrees with the encoder about length in bytes",
    [FastCheck.string({ unit: "grapheme", minLength: 8 })],
    ([text]) => isAccepted(text) === new TextEncoder().encode(text).length <= maximumPasswordBytes
  )
})

describe("referral codes", () => {
  it.prop("a generated code is one", [FastCheck.base64String({ minLength: 43 })], ([token]) => {
    const code = makeReferralCode(token)
    return code.length < 1 || Option.isSome(parseReferralCode(code))
  })
  it("are read without regard to case", () => assert.deepStrictEqual(parseReferralCode("AbC-9"), Option.some("abc-9")))
  for (const bad of ["", "a b", "ü", "a".repeat(21), "a_b"])
    it(`refuses ${JSON.stringify(bad)}`, () => assert.isTrue(Option.isNone(parseReferralCode(bad))))
})
