import * as VolumeUsage from "@berth/infra/instance-drivers/docker/VolumeUsage"
import { assert, it } from "@effect/vitest"
import { Effect, Option, Ref, TestClock } from "effect"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"

const meter = (mountpointOf: (name: string) => string) =>
  Effect.gen(function* () {
    const calls = yield* Ref.make(0)
    const usage = yield* VolumeUsage.make(
      {
        inspectVolume: (name) => Effect.succeedSome({ Name: name, Mountpoint: mountpointOf(name), Labels: {} }),
        measureVolumes: Effect.as(
          Ref.update(calls, (count) => count + 1),
          new Map([
            ["one", 1],
            ["two", 2]
          ])
        )
      },
      "5 seconds"
    )
    return { usage, calls }
  })

it.scoped("VolumeUsage.measure lets the engine measure all unreadable volumes once per interval", () =>
  Effect.gen(function* () {
    const { calls, usage } = yield* meter((name) => `/nowhere/${name}`)
    const measureAll = Effect.forEach(["one", "two", "three"], (name) => usage.measure(name, 10), { concurrency: 3 })
    const expected = [1, 2, 0].map((bytes) => ({ bytes, entries: 0, directory: Option.none() }))
    assert.deepStrictEqual(yield* measureAll, expected)
    assert.deepStrictEqual(yield* measureAll, expected)
    assert.strictEqual(yield* calls, 1)
    yield* TestClock.adjust("5 seconds")
    yield* measureAll
    assert.strictEqual(yield* calls, 2)
  })
)

it.scoped("VolumeUsage.measure counts a readable volume itself", () =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    yield* Effect.promise(async () => {
      await mkdir(join(directory, "home"))
      await writeFile(join(directory, "home", "file"), Buffer.alloc(10_000, 1))
    })
    const { calls, usage } = yield* meter(() => directory)
    const { bytes, directory: found, entries } = yield* usage.measure("one", Number.MAX_SAFE_INTEGER)
    assert.deepStrictEqual(found, Option.some(directory))
    assert.strictEqual(entries, 2)
    assert.isAtLeast(bytes, 10_000)
    assert.strictEqual(yield* calls, 0)
  })
)
