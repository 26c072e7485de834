import { Effect, Schedule } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { connect } from "node:net"
import { join } from "node:path"
import { freePort } from "./FreePort.ts"

const isInstalled = Effect.sync(() => spawnSync("redis-server", ["--version"]).status === 0)

const answers = (port: number) =>
  Effect.async<boolean>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("error", () => resume(Effect.succeed(false)))
    socket.once("data", (reply) => {
      socket.destroy()
      resume(Effect.succeed(reply.toString().startsWith("+PONG")))
    })
    socket.write("PING\r\n")
  })

/** A Redis server for this run, configured as in production. Empty if redis-server is not on the PATH. */
export const startRedis = (
  directory: string,
  options: { readonly port?: number | undefined; readonly fsync?: "always" | "everysec" } = {}
) =>
  Effect.gen(function* () {
    if (!(yield* isInstalled)) return ""
    const port = options.port ?? (yield* freePort)
    const home = join(directory, "redis")
    yield* Effect.promise(() => mkdir(home, { recursive: true }))
    const settings = {
      port: String(port),
      bind: "127.0.0.1",
      dir: home,
      pidfile: join(home, "redis.pid"),
      daemonize: "no",
      appendonly: "yes",
      appendfsync: options.fsync ?? "everysec",
      "maxmemory-policy": "noeviction",
      save: ""
    }
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("redis-server", args, { stdio: "ignore", detached: true })),
      (child) =>
        Effect.async<void>((resume) => {
          if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGTERM")
        })
    )
    yield* answers(port).pipe(
      Effect.filterOrFail(
        (up) => up && server.exitCode === null,
        () => new Error("redis-server does not answer")
      ),
      Effect.retry({ times: 2400, schedule: Schedule.spaced("25 millis") }),
      Effect.orDie
    )
    return `redis://127.0.0.1:${port}`
  })
