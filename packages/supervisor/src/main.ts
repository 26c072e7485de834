import { describeConfigError, makeEnvironmentProvider } from "@berth/infra/configuration/EnvironmentProvider"
import { jsonLogger } from "@berth/infra/telemetry/JsonLogger"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Logger } from "effect"
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import * as LiveProcesses from "./programs/LiveProcesses.ts"
import { type LogFormat, supervisorSettings, defaultLogFormat } from "./SupervisorSettings.ts"
import { supervise } from "./Supervisor.ts"

/** The other bundles lie beside this one. */
const scripts = dirname(fileURLToPath(import.meta.url))

const loggerLayer = (format: LogFormat) =>
  format === "json" ? Logger.replace(Logger.defaultLogger, jsonLogger) : Logger.pretty

/** Settings may stand in a file; what the environment says comes first. */
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
  // A failure has been told already, where it happened; what is left is a fault of the supervisor's own.
  Effect.tapDefect((cause) => Effect.logFatal("The supervisor is at fault", cause))
)

// A reader of our output that has gone away is no reason to end: the programs would be cut off in their work.
process.stdout.on("error", () => process.stdout.destroy())

NodeRuntime.runMain(program, { disableErrorReporting: true, disablePrettyLogger: true })
