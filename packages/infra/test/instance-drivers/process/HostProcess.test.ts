import * as HostProcess from "@berth/infra/instance-drivers/process/HostProcess"
import { expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { spawn } from "node:child_process"

const sleeper = Effect.acquireRelease(
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

it.scopedLive("knows a process again, and knows another in its place for a stranger", () =>
  Effect.gen(function* () {
    const { end, pid } = yield* sleeper
    const began = yield* HostProcess.readStartMark(pid)
    expect(Option.isSome(began)).toBe(true)
    expect(yield* HostProcess.readStartMark(pid)).toStrictEqual(began)
    expect(yield* HostProcess.matchProcess(pid, began)).toBe("ours")
    expect(yield* HostProcess.matchProcess(process.pid, began)).toBe("strange")
    expect(yield* HostProcess.matchProcess(pid, Option.none())).toBe("unknown")
    yield* end
    expect(yield* HostProcess.matchProcess(pid, began)).toBe("gone")
    expect(HostProcess.isRunning(pid)).toBe(false)
    expect(HostProcess.sendSignal(pid, "SIGTERM")).toBe(false)
  })
)

it.effect("takes no number for a process that cannot be one", () =>
  Effect.gen(function* () {
    for (const pid of [0, -1]) expect(yield* HostProcess.matchProcess(pid, Option.some("x"))).toBe("gone")
  })
)
