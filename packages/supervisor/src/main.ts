import { loadProcessSettings } from "@berth/infra/configuration/SettingsLoader"
import { ignoreDebuggerSignal } from "@berth/infra/process/DebuggerSignal"
import { jsonLogger } from "@berth/infra/telemetry/JsonLogger"
import * as LibraryLogs from "@berth/infra/telemetry/LibraryLogs"
import { prettyLogger } from "@berth/infra/telemetry/PrettyLogger"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Logger } from "effect"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import * as LiveProcesses from "./programs/LiveProcesses.ts"
import { type LogFormat, toSupervisorSettings } from "./SupervisorSettings.ts"
import { setupCommand } from "./setup/SetupCommand.ts"
import { supervise } from "./Supervisor.ts"

/** The other bundles are in the same directory. */
const scripts = dirname(fileURLToPath(import.meta.url))

const loggerLayer = (format: LogFormat) =>
  format === "json"
    ? Layer.provideMerge(LibraryLogs.layer, Logger.replace(Logger.defaultLogger, jsonLogger))
    : Logger.replace(Logger.defaultLogger, prettyLogger)

const program = Effect.gen(function* () {
  const { settings, warnings } = yield* loadProcessSettings("supervisor")
  const chosen = toSupervisorSettings(settings)
  const warn = Effect.forEach(warnings, (text) => Effect.logWarning(text))
  yield* Effect.zipRight(warn, supervise(chosen, scripts)).pipe(
    Effect.provide(LiveProcesses.layer),
    Effect.provide(Layer.merge(loggerLayer(chosen.logFormat), Logger.minimumLogLevel(chosen.logLevel)))
  )
}).pipe(
  Effect.tapErrorTag("SettingsInvalid", ({ message }) => Effect.sync(() => process.stderr.write(`${message}\n`))),
  // Failures are logged at their source; defects are logged here.
  Effect.tapDefect((cause) => Effect.logFatal("Supervisor failed", cause))
)

// A closed output pipe must not end the programs.
process.stdout.on("error", () => process.stdout.destroy())

ignoreDebuggerSignal()
const [command, ...flags] = process.argv.slice(2)
const main: Effect.Effect<void, unknown> = command === "setup" ? setupCommand(flags, scripts) : program
NodeRuntime.runMain(main, { disableErrorReporting: true, disablePrettyLogger: true })
