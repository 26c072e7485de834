import { normalizeEmail, parseEmail } from "@berth/domain/shared/Email"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

describe("parseEmail", () => {
  for (const good of ["a@b.co", "  a.b+c@sub.example.org ", "owner@berth.local", "x_y-z@a-b.io", "O'Hara@example.ie"])
    it(`parseEmail accepts ${JSON.stringify(good)}`, () =>
      assert.deepStrictEqual(parseEmail(good).pipe(Option.map(String)), Option.some(good.trim())))
  for (const bad of [
    "",
    "a",
    "a@b",
    "@b.co",
    "a@@b.co",
    "a b@c.de",
    ".a@b.co",
    "a.@b.co",
    "a..b@c.de",
    "a@-b.co",
    "a@b..co",
    "a@b.co\nBcc: x@y.z",
    `${"a".repeat(65)}@b.co`,
    `a@${"b".repeat(250)}.co`
  ])
    it(`parseEmail rejects ${JSON.stringify(bad)}`, () => assert.isTrue(Option.isNone(parseEmail(bad))))

  it.prop("Emails are compared without regard to case", [FastCheck.emailAddress()], ([address]) => {
    const lower = parseEmail(address.toLowerCase())
    const upper = parseEmail(address.toUpperCase())
    return Option.isNone(lower) || Option.isNone(upper) || normalizeEmail(lower.value) === normalizeEmail(upper.value)
  })
})
