import { formatBytes, formatDuration, formatPair, formatPercent, formatShare } from "@berth/api/instances/FigureFormat"
import { assert, it } from "@effect/vitest"

it.each([
  [0, "0B"],
  [1023, "1023B"],
  [1024, "1.0KiB"],
  [1536 * 1024, "1.5MiB"],
  [2 ** 50, "1024.0TiB"]
])("%d bytes are %s", (value, expected) => assert.strictEqual(formatBytes(value), expected))

it.each([
  [0, "0s"],
  [-5, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_725_000, "1h 2m"],
  [86_400_000, "1d"],
  [90_061_000, "1d 1h"]
])("%d milliseconds are %s", (value, expected) => assert.strictEqual(formatDuration(value), expected))

it("A figure that is not available is N/A", () => {
  assert.deepStrictEqual(
    [formatPercent(null), formatShare(0, 0), formatPair(null, 5), formatPair(null, null)],
    ["N/A", "N/A", "N/A", "N/A"]
  )
  assert.deepStrictEqual(
    [formatPercent(0), formatShare(1, 3), formatPair(1024, null), formatPair(0, 0)],
    ["0.00%", "33.33%", "1.0KiB", "0B / 0B"]
  )
})
