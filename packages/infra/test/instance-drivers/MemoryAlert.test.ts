import { decideMemoryAlert, describeMemoryAlert } from "@berth/infra/instance-drivers/MemoryAlert"
import { assert, it } from "@effect/vitest"

const mib = 1024 * 1024

it("decideMemoryAlert warns at 80 and 90 percent, and again only after the use has fallen", () => {
  const raised: Array<number> = []
  let share = 0
  for (const usedMb of [10, 79, 80, 85, 79, 81, 90, 100, 85, 91, 79, 95, 60, 82]) {
    const alert = decideMemoryAlert(share, usedMb * mib, 100)
    if (alert.isRaised) raised.push(usedMb)
    share = alert.share
  }
  assert.deepStrictEqual(raised, [80, 90, 95, 82])
})

it("describeMemoryAlert contains the figures", () => {
  assert.strictEqual(
    describeMemoryAlert(210 * mib, 256),
    "The instance uses 210 of its 256 MB of memory (82 %). It is ended when it needs more than that."
  )
})
