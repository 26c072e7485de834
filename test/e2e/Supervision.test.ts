import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { eventually } from "../support/Eventually.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { freePort } from "../support/FreePort.ts"
import { listRuntimeProcesses } from "./RuntimeProcesses.ts"
import { type Berth, type BerthPids, launchBerth, makeShellEnvironment, root, startBerth } from "./BerthProcess.ts"
import { adminCommand } from "./AdminCommand.ts"
import * as FirstStart from "./FirstStart.ts"
import { readmeExamples } from "./ReadmeExamples.ts"
import * as Records from "./ServiceDatabase.ts"
import { signUpClient } from "./WebClient.ts"

const all = ({ postgres, server, supervisor, worker }: BerthPids) => [
  supervisor,
  server,
  worker,
  ...Option.toArray(postgres)
]

const living = (pids: BerthPids) => all(pids).filter(isProcessAlive)

/**
 * Waits until all four programs are ready: the web API can be ready before the worker, and that of an earlier start
 * can still respond.
 */
const whenAllLive = (berth: Berth, except?: BerthPids) =>
  eventually(
    berth.pids,
    (pids) => living(pids).length === 4 && pids.server !== except?.server && pids.worker !== except?.worker,
    { description: "the four programs to live", timeout: "60 seconds" }
  )

/** Waits until the supervisor has replaced a killed process. */
const replaced = (berth: Berth, name: "server" | "worker", old: number) =>
  eventually(berth.pids, (pids) => pids[name] !== old && isProcessAlive(pids[name]), {
    description: `another ${name} than process ${old}`,
    timeout: "60 seconds"
  })

layer(FirstStart.layer, { timeout: "180 seconds", excludeTestServices: true })("The command npm start", (it) => {
  readmeExamples(it)
  adminCommand(it)

  it.effect(
    "The command npm start starts everything on an empty directory, and stops it in order on Ctrl-C",
    Effect.fn(function* () {
      const berth = yield* FirstStart.FirstStart
      const pids = yield* whenAllLive(berth)
      yield* eventually(
        berth.logs,
        (logs) => logs.includes(`Open this page in a browser:\n\n  http://localhost:${berth.place.port}\n`),
        { description: "the page to open" }
      )

      for (const pid of [pids.supervisor, pids.server, pids.worker]) process.kill(pid, "SIGUSR1")
      yield* berth.signalGroup("SIGINT")
      yield* berth.ended
      assert.deepStrictEqual(living(pids), [])
      assert.notInclude(yield* berth.logs, "Debugger listening")
      assert.include(yield* berth.logs, "Berth has ended")
    })
  )

  // The directory of the ended start.
  it.scoped(
    "The command npm start ends the programs of a start whose supervisor was killed, restarts killed processes, and rejects a second start on its data",
    Effect.fn(function* () {
      const { place } = yield* FirstStart.FirstStart
      const first = yield* startBerth({ place })
      const before = yield* whenAllLive(first)
      // A stopped program does not notice its supervisor's exit.
      process.kill(before.worker, "SIGSTOP")
      process.kill(before.supervisor, "SIGKILL")
      yield* first.ended

      const berth = yield* startBerth({ place })
      const taken = yield* whenAllLive(berth, before)
      assert.deepStrictEqual(taken.postgres, before.postgres)
      assert.deepStrictEqual([before.supervisor, before.server, before.worker].filter(isProcessAlive), [])

      process.kill(taken.worker, "SIGKILL")
      yield* replaced(berth, "worker", taken.worker)
      process.kill(taken.server, "SIGKILL")
      yield* replaced(berth, "server", taken.server)
      yield* berth.ready

      const postgres = Option.getOrThrow(taken.postgres)
      process.kill(postgres, "SIGKILL")
      yield* eventually(
        berth.pids,
        (pids) => Option.exists(pids.postgres, (pid) => pid !== postgres && isProcessAlive(pid)),
        {
          description: `another database than process ${postgres}`,
          timeout: "60 seconds"
        }
      )
      yield* berth.ready

      const elsewhere = { port: yield* freePort, backendPort: yield* freePort }
      const second = yield* launchBerth({ place: { ...place, ...elsewhere } })
      assert.strictEqual((yield* second.ended).code, 1)
      assert.include(yield* second.logs, `(process ${taken.supervisor})`)

      const after = yield* whenAllLive(berth, taken)
      assert.strictEqual(after.supervisor, taken.supervisor)
      yield* berth.signal("SIGTERM")
      assert.deepStrictEqual(yield* berth.ended, { code: 0, signal: null })
      assert.deepStrictEqual(living(after), [])
    })
  )
})

describe("npm start", () => {
  it.scopedLive("The command npm start ends immediately on a second Ctrl-C, and uses a configured database", () =>
    Effect.gen(function* () {
      const berth = yield* startBerth({ databaseUrl: yield* migratedDatabase })
      const pids = yield* berth.pids
      assert.deepStrictEqual(pids.postgres, Option.none())
      // A stopped program cannot drain, so only the second request can end everything before the drain limit.
      process.kill(pids.worker, "SIGSTOP")
      yield* berth.signal("SIGINT")
      yield* eventually(
        Effect.sync(() => isProcessAlive(pids.server)),
        (alive) => !alive,
        { description: "the server's end" }
      )
      // Signals within one second count once.
      yield* Effect.sleep("1100 millis")
      yield* berth.signal("SIGINT")
      yield* berth.ended
      assert.deepStrictEqual(living(pids), [])
    })
  )

  for (const [how, signals] of [
    ["by the drain limit", 1],
    ["by a second signal", 2]
  ] as const)
    it.scopedLive(`The command npm start leaves no instance of a server that is killed ${how}`, () =>
      Effect.gen(function* () {
        const databaseUrl = yield* migratedDatabase
        const berth = yield* startBerth({ databaseUrl, environment: { DRAIN_SECONDS: "1" } })
        const pids = yield* berth.pids
        const person = yield* signUpClient(berth.webUrl)
        yield* Effect.provide(Records.insertSubscription(person.userId, "pro"), Records.layer(databaseUrl))
        yield* person.untilRunning((yield* person.provision("Ada")).id)
        const instances = yield* listRuntimeProcesses(person.userId)
        assert.strictEqual(instances.length, 1)
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => instances.filter(isProcessAlive).forEach((pid) => process.kill(pid, "SIGKILL")))
        )

        // A stopped program cannot end its children.
        process.kill(pids.server, "SIGSTOP")
        yield* berth.signal("SIGTERM")
        if (signals === 2) {
          // Signals within one second count once.
          yield* Effect.sleep("1100 millis")
          yield* berth.signal("SIGTERM")
        }
        yield* berth.ended
        assert.deepStrictEqual([...living(pids), ...instances.filter(isProcessAlive)], [])
      })
    )

  it("A program with invalid settings names them and exits with code 78", () => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, "dist", "worker.mjs")], {
      encoding: "utf8",
      env: { ...makeShellEnvironment(), WORKER_DRAIN_SECONDS: "soon" }
    })
    assert.deepStrictEqual([status, /WORKER_DRAIN_SECONDS: Expected/.test(stderr)], [78, true], stderr)
  })

  it.scopedLive("The command npm start names invalid settings and exits", () =>
    Effect.gen(function* () {
      const berth = yield* launchBerth({
        environment: { PORT: "a hundred", DRAIN_SECONDS: "soon" }
      })
      assert.strictEqual((yield* berth.ended).code, 1)
      const logs = yield* berth.logs
      assert.include(logs, "PORT: Expected")
      assert.include(logs, "DRAIN_SECONDS: Expected")
    })
  )
})
