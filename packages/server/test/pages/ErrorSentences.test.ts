import { shopError, signInError } from "@berth/server/pages/ErrorSentences"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

describe("Errors in an address", () => {
  it("are sentences, and the code itself is never shown", () => {
    const code = FastCheck.oneof(
      FastCheck.string({ unit: "binary", minLength: 1 }),
      FastCheck.constantFrom("toString", "__proto__", "constructor", "oauth_not_configured", "canceled")
    )
    FastCheck.assert(
      FastCheck.property(code, (given) => {
        for (const sentence of [signInError(given), shopError(given)]) assert.match(sentence ?? "", /^[A-Z].{8,}\.$/)
      })
    )
  })

  it("that nobody names are none", () => {
    for (const none of [null, ""]) assert.strictEqual(signInError(none), undefined)
  })
})
