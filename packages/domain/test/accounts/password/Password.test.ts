import { maximumPasswordBytes, validatePassword } from "@berth/domain/accounts/password/Password"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Redacted } from "effect"

const common = { includes: (password: Redacted.Redacted) => Redacted.value(password) === "letmein!" }
const isAccepted = (text: string, minimum?: number) =>
  Either.isRight(validatePassword(common, Redacted.make(text), minimum))

describe("validatePassword", () => {
  it("validatePassword requires eight characters, counted as code points", () => {
    assert.isFalse(isAccepted("1234567"))
    assert.isTrue(isAccepted("12345678"))
    assert.isFalse(isAccepted("😀😀😀😀"))
    assert.isTrue(isAccepted("😀😀😀😀😀😀😀😀"))
  })

  it("validatePassword accepts 1,024 bytes and rejects one more", () => {
    assert.isTrue(isAccepted("é".repeat(maximumPasswordBytes / 2)))
    assert.isFalse(isAccepted(`${"é".repeat(maximumPasswordBytes / 2)}a`))
  })

  it.prop(
    "validatePassword counts bytes as the UTF-8 encoder does",
    [FastCheck.string({ unit: "grapheme", minLength: 8 })],
    ([text]) => isAccepted(text) === new TextEncoder().encode(text).length <= maximumPasswordBytes
  )

  it("validatePassword rejects a common password of sufficient length", () => {
    assert.isFalse(isAccepted("letmein!"))
    assert.isTrue(isAccepted("letmein?"))
  })

  it("validatePassword applies a lower minimum together with the other limits", () => {
    assert.deepStrictEqual(
      [isAccepted("1234567"), isAccepted("1234567", 6), isAccepted("12345", 6), isAccepted("é".repeat(513), 6)],
      [false, true, false, false]
    )
  })
})
