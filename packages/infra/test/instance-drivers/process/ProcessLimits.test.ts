import { computeDiskTolerance, measureDiskUsage } from "@berth/infra/instance-drivers/process/DiskUsage"
import { consumeAllowance, makeFullAllowance, isLogFlood } from "@berth/infra/instance-drivers/process/LogAllowance"
import { computeCpuPercent, parseProcessMetrics } from "@berth/infra/instance-drivers/process/ProcessMetrics"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck, Option } from "effect"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"

const mib = 1024 * 1024

describe("what a cell may say", () => {
  it("is a megabyte a second for ever, and much at once", () => {
    let allowance = makeFullAllowance(0)
    for (let second = 1; second <= 10_000; second++) allowance = consumeAllowance(allowance, mib, second * 1000)
    expect(isLogFlood(allowance)).toBe(false)
    expect(isLogFlood(consumeAllowance(makeFullAllowance(0), 31 * mib, 1))).toBe(false)
    expect(isLogFlood(consumeAllowance(makeFullAllowance(0), 64 * mib, 1000))).toBe(true)
  })
  it.prop(
    "is never more than the burst and what came with time",
    [FastCheck.array(FastCheck.nat({ max: 8 * mib }), { minLength: 1 })],
    ([writes]) => {
      const last = writes.reduce(
        (allowance, written, index) => consumeAllowance(allowance, written, (index + 1) * 1000),
        makeFullAllowance(0)
      )
      const total = writes.reduce((sum, written) => sum + written, 0)
      if (total > 32 * mib + writes.length * mib) expect(isLogFlood(last)).toBe(true)
    }
  )
  it("a clock that goes back gives nothing and takes nothing", () => {
    expect(consumeAllowance({ remainingBytes: 5, at: 1000 }, 0, 0)).toStrictEqual({ remainingBytes: 5, at: 0 })
  })
})

describe("what a cell holds on the disk", () => {
  it.scopedLive("is counted over all directories, without what links point to, and no further than asked", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.promise(async () => {
        await mkdir(join(directory, "a", "b"), { recursive: true })
        await writeFile(join(directory, "a", "b", "one"), Buffer.alloc(mib, 1))
        await writeFile(join(directory, "empty"), "")
        await symlink("/usr", join(directory, "elsewhere"))
      })
      const used = yield* measureDiskUsage(directory, 100 * mib)
      expect(used).toBeGreaterThanOrEqual(mib + 4 * 4096)
      expect(used).toBeLessThan(2 * mib)
      expect(yield* measureDiskUsage(directory, 1)).toBeLessThan(mib)
      expect(yield* measureDiskUsage(join(directory, "none"), 1)).toBe(0)
    })
  )
  it("is left alone up to a tenth over the limit, or a little over what it began with", () => {
    expect(computeDiskTolerance(10, 0)).toBe(11 * mib)
    expect(computeDiskTolerance(10, 50 * mib)).toBe(51 * mib)
  })
})

describe("figures of a process", () => {
  const stat = `7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 11 0 12345 1000 200 18446744073709551615`
  it("are read from its status", () => {
    expect(parseProcessMetrics(stat, "Name:\tnode\nVmRSS:\t   2048 kB\nThreads:\t11\n")).toStrictEqual(
      Option.some({ cpuMs: 3000, residentBytes: 2 * mib, threads: 11 })
    )
  })
  it("are none where the texts are of another kind", () => {
    expect(parseProcessMetrics("", "")).toStrictEqual(Option.none())
    expect(parseProcessMetrics(stat, "Name:\tzombie\n")).toStrictEqual(Option.none())
  })
  it("make a share of one core between two looks", () => {
    expect(computeCpuPercent({ cpuMs: 0, at: 0 }, { cpuMs: 500, at: 1000 })).toBe(50)
    expect(computeCpuPercent({ cpuMs: 0, at: 0 }, { cpuMs: 2500, at: 1000 })).toBe(250)
    expect(computeCpuPercent({ cpuMs: 0, at: 5 }, { cpuMs: 1, at: 5 })).toBe(null)
    expect(computeCpuPercent({ cpuMs: 9, at: 0 }, { cpuMs: 1, at: 5 })).toBe(0)
  })
})
