import { parseDisplayName } from "@berth/domain/accounts/profile/DisplayName"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"

describe("A display name", () => {
  it("A display name may contain any visible character", () => {
    for (const name of ["Ada", "李小龙", "👩‍👩‍👧", "می‌خواهم", "O’Neil & Söhne", "-", "a".repeat(200)])
      assert.deepStrictEqual(parseDisplayName(` ${name} `), Option.some(name))
  })
  it("A display name is not blank, has no bidirectional controls, and is not too long", () => {
    const hostile = [
      "",
      " ",
      "\u200b",
      "\u2060\u00ad",
      "\u3164",
      "\u202egpj.exe",
      "a\u2066b",
      "a\u0007b",
      "a\nb",
      "a".repeat(201)
    ]
    for (const name of hostile) assert.deepStrictEqual(parseDisplayName(name), Option.none(), JSON.stringify(name))
  })
})
