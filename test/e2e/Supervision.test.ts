import { isAlive } from "@berth/infra/process/RunningProcess"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { eventually } from "../conformance/Eventually.ts"
import { freshDatabase } from "../support/Databases.ts"
import { freePort } from "../support/FreePort.ts"
import { cellProcesses } from "./Cells.ts"
import { type Berth, type BerthPids, launchBerth, startBerth } from "./Programs.ts"
import * as Records from "./Records.ts"
import { newcomer } from "./Visitor.ts"

const all = ({ postgres, server, supervisor, worker }: BerthPids) => [
  supervisor,
  server,
  worker,
  ...Option.toArray(postgres)
]

const living = (pids: BerthPids) => all(pids).filter(isAlive)

/** The four programs, once all of them live: the web API is ready before the worker need be, and an earlier start's may still answer. */
const whenAllLive = (berth: Berth, except?: BerthPids) =>
  eventually(
    berth.pids,
    (pids) => living(pids).length === 4 && pids.server !== except?.server && pids.worker !== except?.worker,
    { what: "the four programs to live", limit: "60 seconds" }
  )

/** Waits until the supervisor has put another process in the place of one that was killed. */
const replaced = (berth: Berth, name: "server" | "worker", old: number) =>
  eventually(berth.pids, (pids) => pids[name] !== old && isAlive(pids[name]), {
    what: `another ${name} than process ${old}`,
    limit: "60 seconds"
  })

describe("npm start", () => {
  it.scopedLive("brings everything up on an empty directory, and on Ctrl-C ends it in order", () =>
    Effect.gen(function* () {
      const berth = yield* startBerth({ through: "npm" })
      const pids = yield* whenAllLive(berth)
      yield* eventually(berth.logs, (logs) => logs.includes(`http://localhost:${berth.place.port}/api/register`), {
        what: "a word on what to do next"
      })

      yield* berth.signalGroup("SIGINT")
      yield* berth.ended
      expect(living(pids)).toEqual([])
      expect(yield* berth.logs).toContain("Berth has ended")
    })
  )

  it.scopedLive("starts again whatever is killed, and refuses a second start on its data", () =>
    Effect.gen(function* () {
      const berth = yield* startBerth()
      const before = yield* whenAllLive(berth)

      process.kill(before.worker, "SIGKILL")
      yield* replaced(berth, "worker", before.worker)
      process.kill(before.server, "SIGKILL")
      yield* replaced(berth, "server", before.server)
      yield* berth.ready

      const postgres = Option.getOrThrow(before.postgres)
      process.kill(postgres, "SIGKILL")
      yield* eventually(berth.pids, (pids) => Option.exists(pids.postgres, (pid) => pid !== postgres && isAlive(pid)), {
        what: `another database than process ${postgres}`,
        limit: "60 seconds"
      })
      yield* berth.ready

      const elsewhere = { port: yield* freePort, backendPort: yield* freePort }
      const second = yield* launchBerth({ place: { ...berth.place, ...elsewhere } })
      expect((yield* second.ended).code).toBe(1)
      expect(yield* second.logs).toContain(`(process ${before.supervisor})`)

      const after = yield* whenAllLive(berth, before)
      expect(after.supervisor).toBe(before.supervisor)
      yield* berth.signal("SIGTERM")
      expect(yield* berth.ended).toEqual({ code: 0, signal: null })
      expect(living(after)).toEqual([])
    })
  )

  it.scopedLive("takes over after its supervisor was killed, and leaves nothing of the earlier start", () =>
    Effect.gen(function* () {
      const first = yield* startBerth()
      const before = yield* whenAllLive(first)
      // A stopped program does not notice its supervisor's death.
      process.kill(before.worker, "SIGSTOP")
      process.kill(before.supervisor, "SIGKILL")
      yield* first.ended

      const second = yield* startBerth({ place: first.place })
      const after = yield* whenAllLive(second, before)
      expect(after.postgres).toEqual(before.postgres)
      expect([before.supervisor, before.server, before.worker].filter(isAlive)).toEqual([])

      yield* second.signal("SIGTERM")
      expect(yield* second.ended).toEqual({ code: 0, signal: null })
      expect(living(after)).toEqual([])
    })
  )

  it.scopedLive("ends at once on a second Ctrl-C, and uses a database that it is given", () =>
    Effect.gen(function* () {
      const berth = yield* startBerth({ databaseUrl: yield* freshDatabase })
      const pids = yield* berth.pids
      expect(pids.postgres).toEqual(Option.none())
      // A stopped program cannot drain, so only the second request can end everything before the drain limit.
      process.kill(pids.worker, "SIGSTOP")
      yield* berth.signal("SIGINT")
      yield* eventually(
        Effect.sync(() => isAlive(pids.server)),
        (alive) => !alive,
        { what: "the server's end" }
      )
      // The first moment after a signal is taken for its echo.
      yield* Effect.sleep("1100 millis")
      yield* berth.signal("SIGINT")
      yield* berth.ended
      expect(living(pids)).toEqual([])
    })
  )

  for (const [how, signals] of [
    ["by the drain limit", 1],
    ["by a second signal", 2]
  ] as const)
    it.scopedLive(`leaves no instance of a server that is killed ${how}`, () =>
      Effect.gen(function* () {
        const databaseUrl = yield* freshDatabase
        const berth = yield* startBerth({ databaseUrl, environment: { DRAIN_SECONDS: "1" } })
        const pids = yield* berth.pids
        const person = yield* newcomer(berth.webUrl)
        yield* Effect.provide(Records.subscribe(person.userId, "pro"), Records.layer(databaseUrl))
        yield* person.untilRunning((yield* person.provision("Ada")).id)
        const instances = yield* cellProcesses(person.userId)
        expect(instances.length).toBe(1)
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => instances.filter(isAlive).forEach((pid) => process.kill(pid, "SIGKILL")))
        )

        // A stopped program cannot end what it has started.
        process.kill(pids.server, "SIGSTOP")
        yield* berth.signal("SIGTERM")
        if (signals === 2) {
          // The first moment after a signal is taken for its echo.
          yield* Effect.sleep("1100 millis")
          yield* berth.signal("SIGTERM")
        }
        yield* berth.ended
        expect([...living(pids), ...instances.filter(isAlive)]).toEqual([])
      })
    )

  it.scopedLive("says which settings cannot work, and ends", () =>
    Effect.gen(function* () {
      const berth = yield* launchBerth({ environment: { PORT: "a hundred", DRAIN_SECONDS: "soon" } })
      expect((yield* berth.ended).code).toBe(1)
      const logs = yield* berth.logs
      expect(logs).toContain("PORT: Expected")
      expect(logs).toContain("DRAIN_SECONDS: Expected")
    })
  )
})
