import { describeConfigError, makeEnvironmentProvider } from "@berth/infra/configuration/EnvironmentProvider"
import { ignoreDebuggerSignal } from "@berth/infra/process/DebuggerSignal"
import { jsonLogger } from "@berth/infra/telemetry/JsonLogger"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Logger } from "effect"
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import * as LiveProcesses from "./programs/LiveProcesses.ts"
import { type LogFormat, supervisorSettings, defaultLogFormat } from "./SupervisorSettings.ts"
import { supervise } from "./Supervisor.ts"

/** The other bundles are in the same directory. */
const scripts = dirname(fileURLToPath(import.meta.url))

const loggerLayer = (format: LogFormat) =>
  format === "json" ? Logger.replace(Logger.defaultLogger, jsonLogger) : Logger.pretty

/** Variables of the environment take precedence over `.env`. */
const readSettingsFile = Effect.sync(() => {
  if (existsSync(".env")) process.loadEnvFile(".env")
})

const program = Effect.gen(function* () {
  yield* readSettingsFile
  const chosen = yield* Effect.withConfigProvider(supervisorSettings, makeEnvironmentProvider(process.env))
  yield* supervise(chosen, scripts).pipe(
    Effect.provide(LiveProcesses.layer),
    Effect.provide(Layer.merge(loggerLayer(chosen.logFormat), Logger.minimumLogLevel(chosen.logLevel)))
  )
}).pipe(
  Effect.tapErrorTag("ConfigError", (error) =>
    Effect.logError(["Berth cannot start with these settings:", ...describeConfigError(error)].join("\n  ")).pipe(
      Effect.provide(loggerLayer(defaultLogFormat))
    )
  ),
  // Failures are logged where they happen; defects are logged here.
  Effect.tapDefect((cause) => Effect.logFatal("Supervisor failed", cause))
)

// A closed output pipe must not end the programs.
process.stdout.on("error", () => process.stdout.destroy())

ignoreDebuggerSignal()
NodeRuntime.runMain(program, { disableErrorReporting: true, disablePrettyLogger: true })
