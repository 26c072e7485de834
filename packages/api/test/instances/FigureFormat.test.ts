import { formatBytes, formatDuration, formatPair, formatPercent, formatShare } from "@berth/api/instances/FigureFormat"
import { expect, it } from "@effect/vitest"

it.each([
  [0, "0B"],
  [1023, "1023B"],
  [1024, "1.0KiB"],
  [1536 * 1024, "1.5MiB"],
  [2 ** 50, "1024.0TiB"]
])("%d bytes are %s", (value, expected) => expect(formatBytes(value)).toBe(expected))

it.each([
  [0, "0s"],
  [-5, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_725_000, "1h 2m"],
  [86_400_000, "1d"],
  [90_061_000, "1d 1h"]
])("%d milliseconds are %s", (value, expected) => expect(formatDuration(value)).toBe(expected))

it("what is not known is not made up", () => {
  expect([formatPercent(null), formatShare(0, 0), formatPair(null, 5), formatPair(null, null)]).toStrictEqual([
    "N/A",
    "N/A",
    "N/A",
    "N/A"
  ])
  expect([formatPercent(0), formatShare(1, 3), formatPair(1024, null), formatPair(0, 0)]).toStrictEqual([
    "0.00%",
    "33.33%",
    "1.0KiB",
    "0B / 0B"
  ])
})
