import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc, Option } from "effect"
import * as LockHolder from "../../src/lock/LockHolder.ts"

const pid = fc.integer({ min: 1, max: 2 ** 22 })
const startTime = fc.stringMatching(/^[0-9A-Za-z:_]{1,20}$/)

describe("LockHolder", () => {
  it.prop("LockHolder parses its own format", [pid, fc.oneof(startTime, fc.constant(""))], ([pid, startTime]) => {
    assert.deepStrictEqual(
      LockHolder.parseLockHolder(LockHolder.formatLockHolder({ pid, startTime })),
      Option.some({ pid, startTime })
    )
  })

  it.prop("LockHolder finds no holder in a text without a process number", [fc.string()], ([text]) => {
    const holder = LockHolder.parseLockHolder(text)
    assert.isTrue(Option.isNone(holder) || holder.value.pid > 0)
    assert.deepStrictEqual(LockHolder.parseLockHolder(`x${text}`), Option.none())
  })

  it.prop("LockHolder is held only by a living process", [pid, startTime, startTime], ([pid, recorded, observed]) => {
    assert.isFalse(LockHolder.isLockHeld({ pid, startTime: recorded }, { alive: false, startTime: observed }))
  })

  it.prop(
    "LockHolder is not held by another process with the same number",
    [pid, startTime, startTime],
    ([pid, recorded, observed]) => {
      assert.strictEqual(
        LockHolder.isLockHeld({ pid, startTime: recorded }, { alive: true, startTime: observed }),
        recorded === observed
      )
    }
  )

  it.prop("LockHolder is held when the start times are unknown", [pid, startTime], ([pid, startTime]) => {
    assert.isTrue(LockHolder.isLockHeld({ pid, startTime: "" }, { alive: true, startTime }))
    assert.isTrue(LockHolder.isLockHeld({ pid, startTime }, { alive: true, startTime: "" }))
  })
})
