import * as OrphanedInstances from "@berth/infra/cells/process/OrphanedInstances"
import { prepareDataDirectory } from "@berth/infra/files/DataDirectory"
import { bindable } from "@berth/infra/net/FreePort"
import { endWithParent } from "@berth/infra/process/EndWithParent"
import { Data, Effect, Option, Redacted, Ref } from "effect"
import { join } from "node:path"
import { keepDatabase } from "./database/KeepDatabase.ts"
import * as LockFile from "./lock/LockFile.ts"
import { keepRunning } from "./programs/KeepRunning.ts"
import * as Leftovers from "./programs/Leftovers.ts"
import type { Program } from "./programs/Program.ts"
import { localAddress, ready } from "./Readiness.ts"
import type { Settings } from "./Settings.ts"
import { secondSignalEndsAtOnce } from "./Signals.ts"
import { welcome } from "./Welcome.ts"

/** Another program listens where one of ours has to. */
export class PortIsTaken extends Data.TaggedError("PortIsTaken")<{
  readonly variable: string
  readonly port: number
  readonly host: string
}> {
  override get message() {
    return `Port ${this.port} on ${this.host} is taken by another program, or may not be used. Choose another ${this.variable}.`
  }
}

/** Asked before anything is started: whoever has the port might answer in our name that everything is ready. */
const requirePort = (variable: string, host: string, port: number) =>
  Effect.mapError(Effect.flatten(bindable(port, host)), () => new PortIsTaken({ variable, host, port }))

/** A database of somebody else's never gets lost to us: the programs themselves reconnect to it. */
const database = (settings: Settings) =>
  Option.match(settings.databaseUrl, {
    onNone: () => keepDatabase(join(settings.dataDirectory, "postgres")),
    onSome: (url) => Effect.succeed({ url, lost: Effect.never })
  })

const programs = (settings: Settings, scripts: string, url: Redacted.Redacted): ReadonlyArray<Program> => {
  const environment = {
    ...process.env,
    BERTH_SUPERVISED: "1",
    DATABASE_URL: Redacted.value(url),
    DATA_DIR: settings.dataDirectory,
    LOG_FORMAT: settings.logFormat
  }
  return [
    {
      name: "server",
      script: join(scripts, "server.mjs"),
      environment: { ...environment, SERVER_ROLE: "all" },
      drain: settings.serverDrain
    },
    { name: "worker", script: join(scripts, "worker.mjs"), environment, drain: settings.workerDrain }
  ]
}

const say = (text: string) => Effect.sync(() => void process.stdout.write(text))

const announce = (settings: Settings, wasUp: Ref.Ref<boolean>) =>
  Effect.gen(function* () {
    yield* ready(`http://${localAddress(settings.host)}:${settings.port}/health/ready`)
    yield* Ref.set(wasUp, true)
    yield* say(
      welcome({
        web: `http://localhost:${settings.port}`,
        backend: `http://localhost:${settings.backendPort}`,
        dataDirectory: settings.dataDirectory
      })
    )
  })

/** Everything that has to be there before the programs can run. */
const prepare = (settings: Settings) =>
  Effect.gen(function* () {
    yield* prepareDataDirectory(settings.dataDirectory)
    yield* LockFile.acquire(join(settings.dataDirectory, "supervisor.lock"), settings.dataDirectory)
    const recordFile = join(settings.dataDirectory, "programs.json")
    yield* Leftovers.endLeftovers(recordFile)
    yield* requirePort("PORT", settings.host, settings.port)
    yield* requirePort("BACKEND_PORT", settings.backendHost, settings.backendPort)
    const { lost, url } = yield* database(settings)
    return { lost, url, record: yield* Leftovers.keepRecord(recordFile) }
  })

/** What went wrong is said at once, and not after everything else has been brought down in order. */
const telling = <A, E extends Error, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tapError(effect, (error) => Effect.logError(error.message))

/**
 * Brings everything up and keeps it up until it is interrupted. What is started first ends last: the programs finish
 * their work side by side, then the database stops, then the data directory is free again.
 */
export const supervise = (settings: Settings, scripts: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const instances = join(settings.dataDirectory, "instances")
      yield* secondSignalEndsAtOnce(OrphanedInstances.kill(instances))
      yield* endWithParent
      const { lost, record, url } = yield* telling(prepare(settings))
      // The server ends its instances itself, unless it had to be killed.
      yield* Effect.addFinalizer(() => OrphanedInstances.end(instances))
      const wasUp = yield* Ref.make(false)
      yield* Effect.forkScoped(announce(settings, wasUp))
      const running = programs(settings, scripts, url).map((program) =>
        telling(keepRunning(program, wasUp, (pid) => record(program.name, pid)))
      )
      yield* Effect.all([telling(lost), ...running], { concurrency: "unbounded", discard: true })
    })
  ).pipe(Effect.onInterrupt(() => Effect.logInfo("Berth has ended")))
