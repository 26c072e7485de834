import { defaultLimits, parseLimit } from "@berth/domain/limits/Limit"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Either, FastCheck } from "effect"

const seconds = { s: 1, m: 60, h: 3600, d: 86_400 }
const space = FastCheck.constantFrom("", " ", "\n")

const problem = (text: string) =>
  Either.match(parseLimit(text), { onLeft: ({ reason }) => reason, onRight: () => "none" })

describe("parseLimit", () => {
  it.prop(
    "parseLimit reads count and window",
    [
      FastCheck.integer({ min: 1, max: 1_000_000_000 }),
      FastCheck.integer({ min: 1, max: 366 }),
      FastCheck.constantFrom("s" as const, "m" as const, "h" as const, "d" as const),
      space
    ],
    ([count, length, unit, around]) => {
      const limit = Either.getOrThrow(parseLimit(`${around}${count}/${length}${unit}${around}`))
      assert.strictEqual(limit.count, count)
      assert.strictEqual(Duration.toSeconds(limit.window), length * seconds[unit])
    }
  )

  it.prop("parseLimit accepts any text and returns only usable limits", [FastCheck.string()], ([text]) => {
    const limit = parseLimit(text)
    if (Either.isLeft(limit)) return assert.strictEqual(limit.left.text, text)
    assert.isAtLeast(limit.right.count, 1)
    assert.isAtLeast(Duration.toSeconds(limit.right.window), 1)
  })

  it("parseLimit explains malformed limits", () => {
    const form = "must be count/window, for example 10/1h"
    assert.strictEqual(problem("10"), form)
    assert.strictEqual(problem("10/1h/2"), form)
    assert.strictEqual(problem(""), form)
    const count = (text: string) => `the count must be a whole number from 1 to 1000000000, not "${text}"`
    for (const text of ["0", "-1", "1.5", "1e3", "", "ten", "1000000001", " 5"])
      assert.strictEqual(problem(`${text}/1h`), text === " 5" ? "none" : count(text))
    for (const text of ["1", "1w", "h1", "", "1H"])
      assert.strictEqual(problem(`10/${text}`), `the window must end in s, m, h or d, not "${text}"`)
    for (const text of ["h", "0h", "1.5h", "-1h", "1 h"])
      assert.strictEqual(
        problem(`10/${text}`),
        `the window must be a whole number of at least 1 and a unit, not "${text}"`
      )
    assert.strictEqual(problem("10/367d"), "the window must not be longer than 366d")
  })

  it("parseLimit parses the defaults in the format of settings", () => {
    const written = Object.entries(defaultLimits).map(([name, { count, window }]) => [
      name,
      count,
      Duration.toSeconds(window)
    ])
    assert.deepStrictEqual(written, [
      ["register", 10, 3600],
      ["sign-in", 10, 900],
      ["sign-in-account", 10, 900],
      ["sign-in-success", 200, 900],
      ["forgot-password", 5, 3600],
      ["forgot-password-account", 3, 3600],
      ["reset-password", 10, 3600],
      ["email-verification", 5, 3600],
      ["api-keys", 100, 3600],
      ["provision", 5, 3600],
      ["wallet-create", 5, 3600],
      ["wallet", 60, 60],
      ["verification", 60, 60],
      ["verification-agent", 20, 60],
      ["lifecycle", 60, 60],
      ["logs", 300, 60],
      ["search", 60, 60],
      ["token-gating", 60, 60],
      ["runtime-model", 600, 60],
      ["runtime-page", 60, 60],
      ["runtime-wallet", 60, 60],
      ["runtime-a2a", 60, 60],
      ["runtime-spans", 120, 60],
      ["gateway", 100, 60]
    ])
  })
})
