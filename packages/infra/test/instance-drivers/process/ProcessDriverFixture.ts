import { InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { UserId } from "@berth/domain/shared/UserId"
import * as ProcessInstanceDriver from "@berth/infra/instance-drivers/process/ProcessInstanceDriver"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import { it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted, Schema, type Scope } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"
import { bundleRuntime } from "../../../../../test/support/RuntimeBundle.ts"

export const owner = UserId.make("usr_ada")
export const spec = {
  owner,
  memoryMb: 256,
  cpus: 1,
  diskMb: 256,
  token: Redacted.make("the runtime token"),
  backendUrl: "http://127.0.0.1:1"
}

/** The process driver over `directory`, until the scope closes. */
export const open = (directory: string, changes: Partial<ProcessInstanceDriver.ProcessInstanceDriverOptions> = {}) =>
  Effect.flatMap(
    Effect.promise(() => bundleRuntime()),
    (bundle) =>
      ProcessInstanceDriver.layer({ directory, bundle, onClose: "stop", ...changes }).pipe(
        Layer.provide(UnixSocketClient.layer),
        Layer.build,
        Effect.map(Context.get(InstanceDriver))
      )
  )

const decodeRecord = Schema.decodeUnknownSync(Schema.parseJson(Schema.Struct({ pid: Schema.Int })))

export const recordOf = (directory: string) =>
  Effect.promise(() => readFile(join(directory, owner, "record.json"), "utf8"))

export const pidOf = (directory: string) => Effect.map(recordOf(directory), (text) => decodeRecord(text).pid)

/** A running instance of a driver over a temporary directory. */
export const startInstance = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const driver = yield* open(directory)
  const instance = yield* driver.start(spec)
  return { directory, driver, instance, pid: yield* pidOf(directory) }
})

/** Root can assign accounts, unless its user namespace maps only itself. */
export const hasAccounts =
  process.getuid?.() === 0 &&
  (!existsSync("/proc/self/uid_map") || /\s\d{6,}\s*$/m.test(readFileSync("/proc/self/uid_map", "utf8")))

/** A test without log output, skipped unless `run`. */
export const test = <E>(name: string, body: () => Effect.Effect<void, E, Scope.Scope>, run = true) =>
  (run ? it.scopedLive : it.scopedLive.skip)(`ProcessInstanceDriver ${name}`, () =>
    Effect.provide(body(), Logger.remove(Logger.defaultLogger))
  )
