import { assert, beforeAll } from "@effect/vitest"
import { DateTime, Effect, Option } from "effect"
import { bundleHostileRuntime, bundleRuntime } from "../../support/RuntimeBundle.ts"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"
import {
  ada,
  bob,
  describeDrivers,
  waitUntilEffect,
  makeInstanceSpec,
  testDriver,
  testDriverIf
} from "./InstanceDriverHosts.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const [first, second] = [AgentId.make("agt_1"), AgentId.make("agt_2")]
const all = { limit: 100 }

describeDrivers("InstanceDriver logs and stats", (host) => {
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

  testDriverIf(
    host.runsPrograms,
    "returns log entries newest first, with the message and no other member of the line",
    () =>
      Effect.gen(function* () {
        const { driver } = yield* talking
        const { entries, total } = yield* driver.logs(ada, all)
        assert.strictEqual(total, entries.length)
        const logged = entries.map(({ agentId, level, message, source, timestamp }) => [
          DateTime.toEpochMillis(timestamp) / 1000,
          level,
          source,
          agentId,
          message
        ])
        assert.deepStrictEqual(logged.slice(0, 5), [
          [4, "debug", "agent", first, "A turn was answered"],
          [3, "error", "instance", null, "Error: a crash in plain words\n    at nowhere"],
          [3, "error", "agent", second, "A turn died: Error: oh no"],
          [2, "warning", "agent", first, "A turn failed: the model is away"],
          [1, "info", "instance", null, "I am up"]
        ])
        assert.notInclude(JSON.stringify(entries), "s3cret")
      })
  )

  testDriverIf(host.runsPrograms, "filters entries by agent and level, and counts all matches", () =>
    Effect.gen(function* () {
      const { driver } = yield* talking
      const ofSecond = yield* driver.logs(ada, { ...all, agentId: second })
      assert.deepStrictEqual(new Set(ofSecond.entries.map(({ agentId }) => agentId)), new Set([second, null]))
      const warnings = yield* driver.logs(ada, { ...all, level: "warning" })
      assert.deepStrictEqual(
        warnings.entries.map(({ level }) => level),
        ["warning"]
      )
      const one = yield* driver.logs(ada, { limit: 1, level: "error" })
      assert.deepStrictEqual([one.entries.length, one.total], [1, 2])
      assert.deepStrictEqual(yield* driver.logs(bob, all), { entries: [], total: 0 })
    })
  )

  testDriverIf(host.runsPrograms, "keeps the ids of entries over restarts and drivers", () =>
    Effect.gen(function* () {
      const { directory, driver } = yield* talking
      const before = yield* driver.logs(ada, all)
      assert.strictEqual(new Set(before.entries.map(({ id }) => id)).size, before.total)
      yield* driver.stop(ada)
      yield* driver.start(makeInstanceSpec(ada))
      const other = yield* host.driver({ directory, program: talker, onClose: "leave" })
      const after = (yield* other.logs(ada, all)).entries.map(({ id }) => id)
      assert.includeMembers(
        [...after],
        before.entries.map(({ id }) => id)
      )
    })
  )

  testDriver("returns figures only of a running instance", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const driver = yield* host.driver({ directory, program, onClose: "stop" })
      assert.deepStrictEqual(yield* driver.stats(ada), Option.none())
      const instance = yield* driver.start(makeInstanceSpec(ada))
      const stats = Option.getOrThrow(yield* driver.stats(ada))
      assert.deepStrictEqual(stats.startedAt, instance.startedAt)
      assert.strictEqual(stats.memoryLimitBytes, 256 * 1024 * 1024)
      if (host.reportsNetwork) {
        assert.isAbove(stats.networkReceivedBytes ?? Number.NaN, 0)
        assert.isAbove(stats.networkSentBytes ?? Number.NaN, 0)
      }
      if (host.reportsStats) {
        assert.isAbove(stats.memoryBytes ?? Number.NaN, 20 * 1024 * 1024)
        assert.isBelow(stats.memoryBytes ?? Number.NaN, 256 * 1024 * 1024)
        assert.isAbove(stats.cpuPercent ?? Number.NaN, 0)
        assert.isBelow(stats.cpuPercent ?? Number.NaN, 800)
        if (host.reportsProcesses) assert.isAbove(stats.pids ?? Number.NaN, 0)
      }
      yield* driver.stop(ada)
      assert.deepStrictEqual(yield* driver.stats(ada), Option.none())
    })
  )
})
