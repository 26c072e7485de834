import * as OrphanedInstances from "@berth/infra/instance-drivers/process/OrphanedInstances"
import { prepareDataDirectory } from "@berth/infra/files/DataDirectory"
import { toLocalAddress } from "@berth/infra/net/ListenHosts"
import { findBindablePort } from "@berth/infra/net/PortProbe"
import { endWithParent } from "@berth/infra/process/ParentExit"
import { Data, Effect, Option, Redacted, Ref, Schedule } from "effect"
import { join } from "node:path"
import { superviseDatabase } from "./database/SupervisedDatabase.ts"
import * as LockFile from "./lock/LockFile.ts"
import { superviseProgram } from "./programs/SupervisedProgram.ts"
import * as OrphanedPrograms from "./programs/OrphanedPrograms.ts"
import type { Program } from "./programs/Program.ts"
import type { SupervisorSettings } from "./SupervisorSettings.ts"
import { endOnSecondSignal } from "./Signals.ts"
import { get } from "node:http"

/** Message after a start: the page to open, and further addresses. Sign-in works at the origin of `APP_URL` only. */
export const formatStartupMessage = ({
  appUrl,
  backendPort,
  dataDirectory
}: Pick<SupervisorSettings, "appUrl" | "backendPort" | "dataDirectory">) => `
Berth is ready. Open this page in a browser:

  ${appUrl.origin}

  API reference  ${appUrl.origin}/docs
  Backend API    http://localhost:${backendPort}
  Data           ${dataDirectory}

Press Ctrl-C to stop after running requests and jobs have finished; press it again to stop at once.

`

const isReady = (url: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const request = get(url, { timeout: 2000, agent: false }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode === 200))
    })
    request.once("timeout", () => request.destroy())
    request.once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => request.destroy())
  })

/** Waits until the URL responds with 200. */
const waitUntilReady = (url: string): Effect.Effect<void> =>
  isReady(url).pipe(
    Effect.repeat({ until: (it) => it, schedule: Schedule.spaced("100 millis") }),
    Effect.asVoid,
    Effect.withSpan("Readiness.wait")
  )

const maximumPort = 65_535

class PortTaken extends Data.TaggedError("PortTaken")<{
  readonly variable: string
  readonly port: number
  readonly host: string
}> {
  override readonly message = `Port ${this.port} on ${this.host} is in use or not permitted. Choose another ${this.variable}.`
}

/** Checked before the start, since another program on the port could answer the readiness check. */
const requirePort = (variable: string, host: string, port: number) =>
  Effect.mapError(Effect.flatten(findBindablePort(port, host)), () => new PortTaken({ variable, host, port }))

/** A configured database never counts as lost, since the programs reconnect. */
const database = (settings: SupervisorSettings) =>
  Option.match(settings.databaseUrl, {
    onNone: () => superviseDatabase(join(settings.dataDirectory, "postgres")),
    onSome: (url) => Effect.succeed({ url, lost: Effect.never })
  })

/** One port per program; the worker uses the next one. */
export const findWorkerMetricsPort = ({ metricsPort }: Pick<SupervisorSettings, "metricsPort">) =>
  Option.match(metricsPort, {
    onNone: () => ({}),
    onSome: (port) => ({ METRICS_PORT: String(Math.min(port + 1, maximumPort)) })
  })

const programs = (settings: SupervisorSettings, scripts: string, url: Redacted.Redacted): ReadonlyArray<Program> => {
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
    {
      name: "worker",
      script: join(scripts, "worker.mjs"),
      environment: { ...environment, ...findWorkerMetricsPort(settings) },
      drain: settings.workerDrain
    }
  ]
}

const writeOutput = (text: string) => Effect.sync(() => void process.stdout.write(text))

const announce = Effect.fnUntraced(function* (settings: SupervisorSettings, hasBeenUp: Ref.Ref<boolean>) {
  yield* waitUntilReady(`http://${toLocalAddress(settings.host)}:${settings.port}/health/ready`)
  yield* Ref.set(hasBeenUp, true)
  yield* writeOutput(formatStartupMessage(settings))
})

/** Prepares everything that the programs require. */
const prepare = Effect.fnUntraced(function* (settings: SupervisorSettings) {
  yield* prepareDataDirectory(settings.dataDirectory)
  yield* LockFile.acquireLockFile(join(settings.dataDirectory, "supervisor.lock"), settings.dataDirectory)
  const recordFile = join(settings.dataDirectory, "programs.json")
  yield* OrphanedPrograms.endOrphanedPrograms(recordFile)
  yield* requirePort("PORT", settings.host, settings.port)
  yield* requirePort("BACKEND_PORT", settings.backendHost, settings.backendPort)
  const { lost, url } = yield* database(settings)
  return { lost, url, record: yield* OrphanedPrograms.makeProgramRecorder(recordFile) }
})

/** Logs a failure before the ordered shutdown. */
const logFailure = <A, E extends Error, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tapError(effect, (error) => Effect.logError(error.message))

/**
 * Starts and supervises everything until interrupted. Shutdown order: programs, database, lock of the data directory.
 */
export const supervise = (settings: SupervisorSettings, scripts: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const instances = join(settings.dataDirectory, "instances")
      yield* endOnSecondSignal(OrphanedInstances.kill(instances))
      yield* endWithParent
      const { lost, record, url } = yield* logFailure(prepare(settings))
      // A killed server leaves its instances running.
      yield* Effect.addFinalizer(() => OrphanedInstances.end(instances))
      const hasBeenUp = yield* Ref.make(false)
      yield* Effect.forkScoped(announce(settings, hasBeenUp))
      const running = programs(settings, scripts, url).map((program) =>
        logFailure(superviseProgram(program, hasBeenUp, (pid) => record(program.name, pid)))
      )
      yield* Effect.all([logFailure(lost), ...running], { concurrency: "unbounded", discard: true })
    })
  ).pipe(Effect.onInterrupt(() => Effect.logInfo("Berth has ended")))
