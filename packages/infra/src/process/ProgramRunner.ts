import { NodeRuntime } from "@effect/platform-node"
import { Cause, Data, Effect, Layer, Option } from "effect"
import { randomUUID } from "node:crypto"
import type { ProgramKind } from "../configuration/SettingsFaults.ts"
import { loadProcessSettings, SettingsInvalid } from "../configuration/SettingsLoader.ts"
import type { Settings } from "../configuration/Settings.ts"
import * as LibraryLogs from "../telemetry/LibraryLogs.ts"
import * as Telemetry from "../telemetry/Telemetry.ts"
import { ignoreDebuggerSignal } from "./DebuggerSignal.ts"
import { failedExitCode, misconfiguredExitCode } from "./ExitCode.ts"
import { endWithParent } from "./ParentExit.ts"
import { collectStartupGarbage } from "./StartupGarbage.ts"

/** The settings are invalid; a restart would not help. */
export class ProgramMisconfigured extends Data.TaggedError("ProgramMisconfigured")<{ readonly reason: string }> {
  override readonly message = this.reason
}

export const serviceVersion = "0.1.0"

const findLogFormat = ({ log }: Settings) =>
  Option.getOrElse(log.format, () => (process.stdout.isTTY ? "pretty" : "json"))

const exitWith = (code: number) => Effect.sync(() => process.exit(code))

/** Runs a program's layers until SIGTERM or SIGINT. Exit codes: 0 after a signal, 78 for invalid settings, else 1. */
export const runProgram = (options: {
  readonly serviceName: string
  readonly kind: ProgramKind
  readonly program: (settings: Settings) => Layer.Layer<never, { readonly message: string }>
}): void =>
  runProgramCommand({
    ...options,
    command: (settings) =>
      Layer.build(options.program(settings)).pipe(
        Effect.zipRight(collectStartupGarbage),
        Effect.zipRight(Effect.never),
        Effect.scoped,
        // The output of a command is its result only, without logs of libraries.
        Effect.provide(findLogFormat(settings) === "json" ? LibraryLogs.layer : Layer.empty)
      )
  })

/** As `runProgram`, for an effect that ends: exit code 0 on success. */
export const runProgramCommand = (options: {
  readonly serviceName: string
  readonly kind: ProgramKind
  readonly command: (settings: Settings) => Effect.Effect<unknown, { readonly message: string }>
}): void => {
  ignoreDebuggerSignal()
  const main = Effect.gen(function* () {
    const { settings, warnings } = yield* loadProcessSettings(options.kind)
    // Already logged by the supervisor.
    const warn = settings.supervised ? Effect.void : Effect.forEach(warnings, (text) => Effect.logWarning(text))
    const telemetry = Telemetry.layer({
      identity: {
        serviceName: Option.getOrElse(settings.telemetry.serviceName, () => options.serviceName),
        serviceVersion,
        serviceInstanceId: randomUUID(),
        role: options.kind === "server" ? settings.role : options.kind
      },
      export: settings.telemetry,
      logLevel: settings.log.level,
      logFormat: findLogFormat(settings)
    })
    yield* Effect.all([endWithParent, warn, options.command(settings)], { discard: true }).pipe(
      Effect.scoped,
      Effect.tapErrorCause((cause) =>
        Option.match(
          Option.filter(Cause.failureOption(cause), (error) => error instanceof ProgramMisconfigured),
          {
            onNone: () => Effect.logFatal("Program failed", cause),
            onSome: ({ message }) => Effect.logFatal(message)
          }
        )
      ),
      Effect.provide(telemetry)
    )
  })
  NodeRuntime.runMain(
    Effect.catchAll(main, (error) =>
      error instanceof SettingsInvalid
        ? Effect.zipRight(
            Effect.sync(() => process.stderr.write(`${error.message}\n`)),
            exitWith(misconfiguredExitCode)
          )
        : exitWith(error instanceof ProgramMisconfigured ? misconfiguredExitCode : failedExitCode)
    ),
    { disablePrettyLogger: true, disableErrorReporting: true }
  )
}
