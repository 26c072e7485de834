import { bytes, duration, pair, percent, share } from "@berth/api/instances/Figures"
import { expect, it } from "@effect/vitest"

it.each([
  [0, "0B"],
  [1023, "1023B"],
  [1024, "1.0KiB"],
  [1536 * 1024, "1.5MiB"],
  [2 ** 50, "1024.0TiB"]
])("%d bytes are %s", (value, expected) => expect(bytes(value)).toBe(expected))

it.each([
  [0, "0s"],
  [-5, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_725_000, "1h 2m"],
  [86_400_000, "1d"],
  [90_061_000, "1d 1h"]
])("%d milliseconds are %s", (value, expected) => expect(duration(value)).toBe(expected))

it("what is not known is not made up", () => {
  expect([percent(null), share(0, 0), pair(null, 5), pair(null, null)]).toStrictEqual(["N/A", "N/A", "N/A", "N/A"])
  expect([percent(0), share(1, 3), pair(1024, null), pair(0, 0)]).toStrictEqual([
    "0.00%",
    "33.33%",
    "1.0KiB",
    "0B / 0B"
  ])
})
