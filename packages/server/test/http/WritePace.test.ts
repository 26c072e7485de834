import { computeGap } from "@berth/server/http/WritePace"
import { assert, it } from "@effect/vitest"

it("computeGap is 0 while the event loop has time, and at most 100 ms under load", () => {
  assert.deepStrictEqual([0, 0.05, 0.1, 0.16, 0.25, 0.4, 0.95, 1].map(computeGap), [0, 0, 0, 20, 50, 100, 100, 100])
})
