import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc, Option } from "effect"
import * as LockHolder from "../../src/lock/LockHolder.ts"

const pid = fc.integer({ min: 1, max: 2 ** 22 })
const birth = fc.stringMatching(/^[0-9A-Za-z:_]{1,20}$/)

describe("LockHolder", () => {
  it.prop("reads back what it prints", [pid, fc.oneof(birth, fc.constant(""))], ([pid, birth]) => {
    expect(LockHolder.parseLockHolder(LockHolder.formatLockHolder({ pid, birth }))).toEqual(Option.some({ pid, birth }))
  })

  it.prop("finds nobody in a text that does not begin with a process number", [fc.string()], ([text]) => {
    const holder = LockHolder.parseLockHolder(text)
    expect(Option.isNone(holder) || holder.value.pid > 0).toBe(true)
    expect(LockHolder.parseLockHolder(`x${text}`)).toEqual(Option.none())
  })

  it.prop("is held only by a living process", [pid, birth, birth], ([pid, born, seen]) => {
    expect(LockHolder.isLockHeld({ pid, birth: born }, { alive: false, birth: seen })).toBe(false)
  })

  it.prop("is not held by another process with the same number", [pid, birth, birth], ([pid, born, seen]) => {
    expect(LockHolder.isLockHeld({ pid, birth: born }, { alive: true, birth: seen })).toBe(born === seen)
  })

  it.prop("is respected when the births are not known", [pid, birth], ([pid, birth]) => {
    expect(LockHolder.isLockHeld({ pid, birth: "" }, { alive: true, birth })).toBe(true)
    expect(LockHolder.isLockHeld({ pid, birth }, { alive: true, birth: "" })).toBe(true)
  })
})
