import { makeReferralCode, parseReferralCode } from "@berth/domain/accounts/referrals/ReferralCode"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

describe("parseReferralCode", () => {
  it.prop("parseReferralCode accepts every generated code", [FastCheck.base64String({ minLength: 43 })], ([token]) => {
    const code = makeReferralCode(token)
    return code.length < 1 || Option.isSome(parseReferralCode(code))
  })

  it("parseReferralCode returns lower case", () =>
    assert.deepStrictEqual(parseReferralCode("AbC-9"), Option.some("abc-9")))

  for (const malformed of ["", "a b", "ü", "a".repeat(21), "a_b"])
    it(`parseReferralCode rejects ${JSON.stringify(malformed)}`, () =>
      assert.isTrue(Option.isNone(parseReferralCode(malformed))))
})
