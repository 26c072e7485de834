import * as LibraryLogs from "@berth/infra/telemetry/LibraryLogs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { recordLogs } from "../../../../test/support/RecordedTelemetry.ts"

const output = globalThis.console

describe("LibraryLogs", () => {
  it.effect("LibraryLogs logs the console and the warnings of Node.js without secrets, until its scope closes", () =>
    Effect.gen(function* () {
      const logs = recordLogs()
      const before = { ...output }
      const listeners = process.listeners("warning")
      yield* Effect.sync(() => {
        output.warn("connect %s failed", "redis://me:hunter2@host:6379", { attempt: 2 })
        output.error(new Error("by Bearer hunter2hunter2"))
        process.emit("warning", Object.assign(new Error("https://a.b/?key=hunter2"), { name: "DeprecationWarning" }))
      }).pipe(Effect.provide(Layer.provideMerge(LibraryLogs.layer, logs.layer)))
      const [first = "", second = "", third = ""] = logs.lines
      assert.lengthOf(logs.lines, 3)
      assert.include(first, "connect redis://REDACTED@host:6379 failed { attempt: 2 }")
      assert.include(second, "by Bearer REDACTED")
      for (const part of ["Node.js warned", "DeprecationWarning", "https://a.b/?key=REDACTED"])
        assert.include(third, part)
      assert.notInclude(logs.lines.join(), "hunter2")
      assert.strictEqual(output.warn, before.warn)
      assert.deepStrictEqual(process.listeners("warning"), listeners)
    })
  )
})
