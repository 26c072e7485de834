import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect } from "effect"
import { runRuntime } from "./Runtime.ts"
import { loadRuntimeSettings } from "./RuntimeSettings.ts"
import * as RuntimeLogs from "./telemetry/RuntimeLogs.ts"

// SIGUSR1 opens the debugger of Node.js, and instances with a shared account could send it to each other.
process.on("SIGUSR1", () => undefined)

loadRuntimeSettings.pipe(
  Effect.provide(NodeFileSystem.layer),
  Effect.flatMap(runRuntime),
  Effect.tapErrorCause((cause) =>
    Cause.isInterruptedOnly(cause) ? Effect.logInfo("Runtime stopped") : Effect.logFatal("Runtime failed", cause)
  ),
  Effect.provide(RuntimeLogs.layer),
  NodeRuntime.runMain({ disablePrettyLogger: true, disableErrorReporting: true })
)
