import { validatePassword } from "@berth/domain/accounts/password/PasswordPolicy"
import { assert, describe, it } from "@effect/vitest"
import { Either, Redacted } from "effect"

const common = { includes: (password: Redacted.Redacted) => Redacted.value(password) === "letmein!" }
const isChosen = (text: string, minimum?: number) =>
  Either.isRight(validatePassword(common, Redacted.make(text), minimum))

describe("choosePassword", () => {
  it("refuses what is common, whatever its length", () => {
    assert.isFalse(isChosen("letmein!"))
    assert.isTrue(isChosen("letmein?"))
  })

  it("keeps the limits of any password, the lower one where it is lower", () => {
    assert.deepStrictEqual(
      [isChosen("1234567"), isChosen("1234567", 6), isChosen("12345", 6), isChosen("é".repeat(513), 6)],
      [false, true, false, false]
    )
  })
})
