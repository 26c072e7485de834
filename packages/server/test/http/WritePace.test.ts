import { computeGap } from "@berth/server/http/WritePace"
import { assert, it } from "@effect/vitest"

it("computeGap is 0 while the event loop has time, and at most 100 ms under load", () => {
  assert.deepStrictEqual([0, 0.2, 0.4, 0.5, 0.6, 0.8, 0.95, 1].map(computeGap), [0, 0, 0, 25, 50, 100, 100, 100])
})
