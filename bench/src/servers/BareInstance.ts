import { Clock, Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { dockerNetwork, runDocker } from "../berth/Docker.ts"

const program = `require("node:http").createServer((_, response) => response.end("ok")).listen(PORT, () => console.log(PORT))`

const millisSince = (began: bigint) => Effect.map(Clock.currentTimeNanos, (now) => Number(now - began) / 1e6)

const firstAnswer = (url: string) =>
  Effect.tryPromise((signal) => fetch(url, { signal })).pipe(
    Effect.retry({ schedule: Schedule.spaced("5 millis"), times: 2000 }),
    Effect.orDie
  )

/** Milliseconds from the spawn of a bare node:http server to its first answer. */
export const startBareProcess = (port: number): Effect.Effect<number> =>
  Effect.scoped(
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeNanos
      const child = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(process.execPath, ["-e", program.replaceAll("PORT", String(port))])),
        (child) =>
          Effect.promise(async () => {
            const exit = once(child, "exit")
            if (child.kill("SIGKILL")) await exit
          })
      )
      yield* Effect.promise(() => once(child.stdout, "data"))
      yield* firstAnswer(`http://127.0.0.1:${port}`)
      return yield* millisSince(began)
    })
  )

/** Milliseconds from `docker run` of the same server to its first answer. */
export const startBareContainer = (image: string): Effect.Effect<number> =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeNanos
    const id = yield* runDocker(
      "run",
      "--detach",
      "--network",
      dockerNetwork,
      image,
      "-e",
      program.replaceAll("PORT", "8080")
    )
    const address = yield* runDocker(
      "inspect",
      "--format",
      "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
      id
    )
    yield* firstAnswer(`http://${address}:8080`)
    const took = yield* millisSince(began)
    yield* runDocker("rm", "--force", id)
    return took
  })
