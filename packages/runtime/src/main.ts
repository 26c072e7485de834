import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect } from "effect"
import { runRuntime } from "./Runtime.ts"
import { loadRuntimeSettings } from "./RuntimeSettings.ts"
import * as RuntimeLogs from "./telemetry/RuntimeLogs.ts"

// Node.js opens its debugger on SIGUSR1, which instances that share an account could send to each other.
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
