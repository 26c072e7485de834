import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect } from "effect"
import { run } from "./Cell.ts"
import { settings } from "./cell/Settings.ts"
import * as Logs from "./telemetry/Logs.ts"

settings.pipe(
  Effect.flatMap(run),
  Effect.tapErrorCause((cause) =>
    Cause.isInterruptedOnly(cause) ? Effect.logInfo("The cell ended") : Effect.logFatal("The cell gave up", cause)
  ),
  Effect.provide(Logs.layer),
  NodeRuntime.runMain({ disablePrettyLogger: true, disableErrorReporting: true })
)
