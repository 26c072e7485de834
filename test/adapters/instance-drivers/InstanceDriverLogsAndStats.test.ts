import { beforeAll, describe, expect } from "@effect/vitest"
import { DateTime, Effect, Option } from "effect"
import { bundleHostileRuntime, bundleRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import { ada, bob, instanceDriverHosts, waitUntilEffect, makeInstanceSpec, testDriver } from "./InstanceDriverHosts.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const [first, second] = [AgentId.make("agt_1"), AgentId.make("agt_2")]
const all = { limit: 100 }

for (const host of instanceDriverHosts)
  describe(`InstanceDriver, what is told of a cell: ${host.name}`, () => {
    let talker = ""
    let program = ""
    beforeAll(async () => {
      talker = await bundleHostileRuntime("talks")
      program = await bundleRuntime()
    })

    const talking = Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const open = host.driver({ directory, program: talker, onClose: "stop" })
      const driver = yield* open
      yield* driver.start(makeInstanceSpec(ada))
      yield* waitUntilEffect(Effect.map(driver.logs(ada, { ...all, level: "debug" }), ({ total }) => total > 0))
      return { driver, directory }
    })

    testDriver("its log is read newest first, each entry in its own words and nothing else of its line", () =>
      Effect.gen(function* () {
        const { driver } = yield* talking
        const { entries, total } = yield* driver.logs(ada, all)
        expect(total).toBe(entries.length)
        const told = entries.map(({ agentId, level, message, source, timestamp }) => [
          DateTime.toEpochMillis(timestamp) / 1000,
          level,
          source,
          agentId,
          message
        ])
        expect(told.slice(0, 5)).toStrictEqual([
          [4, "debug", "agent", first, "A turn was answered"],
          [3, "error", "instance", null, "Error: a crash in plain words\n    at nowhere"],
          [3, "error", "agent", second, "A turn died: Error: oh no"],
          [2, "warning", "agent", first, "A turn failed: the model is away"],
          [1, "info", "instance", null, "I am up"]
        ])
        expect(JSON.stringify(entries)).not.toContain("s3cret")
      })
    )

    testDriver(
      "an agent's entries are its own and the instance's; a level is that level alone; the total counts all",
      () =>
        Effect.gen(function* () {
          const { driver } = yield* talking
          const ofSecond = yield* driver.logs(ada, { ...all, agentId: second })
          expect(new Set(ofSecond.entries.map(({ agentId }) => agentId))).toStrictEqual(new Set([second, null]))
          const warnings = yield* driver.logs(ada, { ...all, level: "warning" })
          expect(warnings.entries.map(({ level }) => level)).toStrictEqual(["warning"])
          const one = yield* driver.logs(ada, { limit: 1, level: "error" })
          expect([one.entries.length, one.total]).toStrictEqual([1, 2])
          expect(yield* driver.logs(bob, all)).toStrictEqual({ entries: [], total: 0 })
        })
    )

    testDriver("ids stay when the cell ends and another one is started, and for another driver", () =>
      Effect.gen(function* () {
        const { directory, driver } = yield* talking
        const before = yield* driver.logs(ada, all)
        expect(new Set(before.entries.map(({ id }) => id)).size).toBe(before.total)
        yield* driver.stop(ada)
        yield* driver.start(makeInstanceSpec(ada))
        const other = yield* host.driver({ directory, program: talker, onClose: "leave" })
        const after = (yield* other.logs(ada, all)).entries.map(({ id }) => id)
        expect(after).toStrictEqual(expect.arrayContaining(before.entries.map(({ id }) => id)))
      })
    )

    testDriver("figures are those of a cell that is up", () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const driver = yield* host.driver({ directory, program, onClose: "stop" })
        expect(yield* driver.stats(ada)).toStrictEqual(Option.none())
        const cell = yield* driver.start(makeInstanceSpec(ada))
        const stats = Option.getOrThrow(yield* driver.stats(ada))
        expect(stats.startedAt).toStrictEqual(cell.startedAt)
        expect(stats.memoryLimitBytes).toBe(256 * 1024 * 1024)
        if (host.reportsStats) {
          expect(stats.memoryBytes).toBeGreaterThan(20 * 1024 * 1024)
          expect(stats.memoryBytes).toBeLessThan(256 * 1024 * 1024)
          expect(stats.cpuPercent).toBeGreaterThan(0)
          expect(stats.cpuPercent).toBeLessThan(800)
          expect(stats.pids).toBeGreaterThan(0)
        }
        yield* driver.stop(ada)
        expect(yield* driver.stats(ada)).toStrictEqual(Option.none())
      })
    )
  })
