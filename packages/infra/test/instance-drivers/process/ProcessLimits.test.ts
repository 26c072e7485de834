import {
  beginDiskCount,
  computeDiskCountPause,
  computeDiskTolerance,
  continueDiskCount,
  isOverLimit,
  maximumEntries,
  measureDeletedFiles,
  measureDiskUsage
} from "@berth/infra/instance-drivers/DiskUsage"
import { consumeAllowance, makeFullAllowance, isLogFlood } from "@berth/infra/instance-drivers/process/LogAllowance"
import { computeCpuPercent } from "@berth/infra/instance-drivers/CpuPercent"
import { parseProcessMetrics } from "@berth/infra/instance-drivers/process/ProcessMetrics"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck, Option } from "effect"
import { mkdir, open, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"

const mib = 1024 * 1024

describe("LogAllowance", () => {
  it("LogAllowance allows a megabyte per second, and a burst", () => {
    let allowance = makeFullAllowance(0)
    for (let second = 1; second <= 10_000; second++) allowance = consumeAllowance(allowance, mib, second * 1000)
    assert.isFalse(isLogFlood(allowance))
    assert.isFalse(isLogFlood(consumeAllowance(makeFullAllowance(0), 31 * mib, 1)))
    assert.isTrue(isLogFlood(consumeAllowance(makeFullAllowance(0), 64 * mib, 1000)))
  })
  it.prop(
    "LogAllowance never exceeds the burst and the refill",
    [FastCheck.array(FastCheck.nat({ max: 8 * mib }), { minLength: 1 })],
    ([writes]) => {
      const last = writes.reduce(
        (allowance, written, index) => consumeAllowance(allowance, written, (index + 1) * 1000),
        makeFullAllowance(0)
      )
      const total = writes.reduce((sum, written) => sum + written, 0)
      if (total > 32 * mib + writes.length * mib) assert.isTrue(isLogFlood(last))
    }
  )
  it("LogAllowance stays unchanged when the clock goes back", () => {
    assert.deepStrictEqual(consumeAllowance({ remainingBytes: 5, at: 1000 }, 0, 0), { remainingBytes: 5, at: 0 })
  })
})

describe("DiskUsage", () => {
  it.scopedLive("DiskUsage counts all directories without following links, and stops at the limit", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.promise(async () => {
        await mkdir(join(directory, "a", "b"), { recursive: true })
        await writeFile(join(directory, "a", "b", "one"), Buffer.alloc(mib, 1))
        await writeFile(join(directory, "empty"), "")
        await symlink("/usr", join(directory, "elsewhere"))
      })
      const used = yield* measureDiskUsage(directory, 100 * mib)
      assert.isAtLeast(used, mib + 4 * 4096)
      assert.isBelow(used, 2 * mib)
      assert.isBelow(yield* measureDiskUsage(directory, 1), mib)
      assert.strictEqual(yield* measureDiskUsage(join(directory, "none"), 1), 0)
    })
  )
  it.scopedLive("continueDiskCount counts a directory in steps, and ends at the limit of entries", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.promise(async () => {
        await mkdir(join(directory, "a"))
        for (let number = 0; number < 50; number++) await writeFile(join(directory, "a", `file-${number}`), "")
      })
      const count = beginDiskCount(directory)
      const steps: Array<number> = []
      while (!(yield* continueDiskCount(count, 20, mib))) steps.push(count.entries)
      assert.deepStrictEqual(steps, [20, 40])
      assert.deepInclude(count, { entries: 51, bytes: 51 * 4096 })
      const full = { ...beginDiskCount(directory), entries: maximumEntries }
      assert.isTrue(yield* continueDiskCount(full, 1, mib))
      assert.isTrue(isOverLimit(full, mib))
    })
  )

  it.scopedLive("measureDeletedFiles counts the deleted files that a process holds open, once each", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryDirectory, "file")
      const before = yield* measureDeletedFiles(process.pid)
      const files = [yield* Effect.promise(() => open(path, "w")), yield* Effect.promise(() => open(path, "r"))]
      yield* Effect.promise(() => writeFile(path, Buffer.alloc(8 * mib, 1)))
      assert.isBelow((yield* measureDeletedFiles(process.pid)) - before, mib)
      yield* Effect.promise(() => rm(path))
      const held = (yield* measureDeletedFiles(process.pid)) - before
      assert.isAtLeast(held, 8 * mib)
      assert.isBelow(held, 9 * mib)
      yield* Effect.promise(() => Promise.all(files.map((file) => file.close())))
      assert.isBelow((yield* measureDeletedFiles(process.pid)) - before, mib)
    })
  )

  it("DiskUsage pauses between two counts of a disk in proportion to their work, and at most 20 seconds", () => {
    assert.strictEqual(computeDiskCountPause(10), 500)
    assert.strictEqual(computeDiskCountPause(60_000), 20_000)
  })

  it("DiskUsage tolerates a tenth over the limit, or one MiB over the usage at start", () => {
    assert.strictEqual(computeDiskTolerance(10, 0), 11 * mib)
    assert.strictEqual(computeDiskTolerance(10, 50 * mib), 51 * mib)
  })
})

describe("ProcessMetrics", () => {
  const stat = `7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 11 0 12345 1000 200 18446744073709551615`
  it("ProcessMetrics parses the files of /proc", () => {
    assert.deepStrictEqual(
      parseProcessMetrics(stat, "Name:\tnode\nVmRSS:\t   2048 kB\nThreads:\t11\n"),
      Option.some({ cpuMs: 3000, residentBytes: 2 * mib, threads: 11 })
    )
  })
  it("ProcessMetrics finds none in malformed files", () => {
    assert.deepStrictEqual(parseProcessMetrics("", ""), Option.none())
    assert.deepStrictEqual(parseProcessMetrics(stat, "Name:\tzombie\n"), Option.none())
  })
  it("ProcessMetrics computes the percentage of one core between two samples", () => {
    assert.strictEqual(computeCpuPercent({ cpuMs: 0, at: 0 }, { cpuMs: 500, at: 1000 }), 50)
    assert.strictEqual(computeCpuPercent({ cpuMs: 0, at: 0 }, { cpuMs: 2500, at: 1000 }), 250)
    assert.strictEqual(computeCpuPercent({ cpuMs: 0, at: 5 }, { cpuMs: 1, at: 5 }), null)
    assert.strictEqual(computeCpuPercent({ cpuMs: 9, at: 0 }, { cpuMs: 1, at: 5 }), 0)
  })
})
