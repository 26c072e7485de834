import { isProcessAlive, matchProcess, readStartMark, sendSignal } from "@berth/infra/process/ProcessIdentity"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { spawn } from "node:child_process"

const idleProcess = Effect.acquireRelease(
  Effect.sync(() => spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" })),
  (child) => Effect.sync(() => child.kill("SIGKILL"))
).pipe(
  Effect.map((child) => ({
    pid: child.pid ?? 0,
    end: Effect.async<void>((resume) => {
      child.once("exit", () => resume(Effect.void))
      child.kill("SIGKILL")
    })
  }))
)

describe("ProcessIdentity.matchProcess", () => {
  it.scopedLive("ProcessIdentity.matchProcess distinguishes the same, another and an ended process", () =>
    Effect.gen(function* () {
      const { end, pid } = yield* idleProcess
      const mark = readStartMark(pid)
      assert.isTrue(Option.isSome(mark))
      assert.deepStrictEqual(readStartMark(pid), mark)
      assert.strictEqual(matchProcess(pid, mark), "same")
      assert.strictEqual(matchProcess(process.pid, mark), "different")
      assert.strictEqual(matchProcess(pid, Option.none()), "unknown")
      yield* end
      assert.strictEqual(matchProcess(pid, mark), "gone")
      assert.isFalse(isProcessAlive(pid))
      assert.isFalse(sendSignal(pid, "SIGTERM"))
    })
  )

  it("ProcessIdentity.matchProcess finds no process with a number of zero or below", () => {
    for (const pid of [0, -1]) assert.strictEqual(matchProcess(pid, Option.some("x")), "gone")
  })
})
