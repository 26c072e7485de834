import * as HostProcess from "@berth/infra/cells/process/HostProcess"
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
    const began = yield* HostProcess.startOf(pid)
    expect(Option.isSome(began)).toBe(true)
    expect(yield* HostProcess.startOf(pid)).toStrictEqual(began)
    expect(yield* HostProcess.find(pid, began)).toBe("ours")
    expect(yield* HostProcess.find(process.pid, began)).toBe("strange")
    expect(yield* HostProcess.find(pid, Option.none())).toBe("unknown")
    yield* end
    expect(yield* HostProcess.find(pid, began)).toBe("gone")
    expect(HostProcess.isAlive(pid)).toBe(false)
    expect(HostProcess.signal(pid, "SIGTERM")).toBe(false)
  })
)

it.effect("takes no number for a process that cannot be one", () =>
  Effect.gen(function* () {
    for (const pid of [0, -1]) expect(yield* HostProcess.find(pid, Option.some("x"))).toBe("gone")
  })
)
