import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc, Option } from "effect"
import * as LockHolder from "../../src/lock/LockHolder.ts"

const pid = fc.integer({ min: 1, max: 2 ** 22 })
const birth = fc.stringMatching(/^[0-9A-Za-z:_]{1,20}$/)

describe("LockHolder", () => {
  it.prop("LockHolder parses its own format", [pid, fc.oneof(birth, fc.constant(""))], ([pid, birth]) => {
    assert.deepStrictEqual(
      LockHolder.parseLockHolder(LockHolder.formatLockHolder({ pid, birth })),
      Option.some({ pid, birth })
    )
  })

  it.prop("LockHolder finds no holder in a text without a process number", [fc.string()], ([text]) => {
    const holder = LockHolder.parseLockHolder(text)
    assert.isTrue(Option.isNone(holder) || holder.value.pid > 0)
    assert.deepStrictEqual(LockHolder.parseLockHolder(`x${text}`), Option.none())
  })

  it.prop("LockHolder is held only by a living process", [pid, birth, birth], ([pid, born, seen]) => {
    assert.isFalse(LockHolder.isLockHeld({ pid, birth: born }, { alive: false, birth: seen }))
  })

  it.prop(
    "LockHolder is not held by another process with the same number",
    [pid, birth, birth],
    ([pid, born, seen]) => {
      assert.strictEqual(LockHolder.isLockHeld({ pid, birth: born }, { alive: true, birth: seen }), born === seen)
    }
  )

  it.prop("LockHolder is held when the start times are unknown", [pid, birth], ([pid, birth]) => {
    assert.isTrue(LockHolder.isLockHeld({ pid, birth: "" }, { alive: true, birth }))
    assert.isTrue(LockHolder.isLockHeld({ pid, birth }, { alive: true, birth: "" }))
  })
})
