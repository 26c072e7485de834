import { Clock, Effect, Option, Schema } from "effect"
import { readdir, rm, stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { writeFileAtomically } from "../../files/AtomicFile.ts"
import { type InstanceDirectory, resolveInstanceDirectory } from "./InstanceDirectory.ts"
import * as ProcessRecord from "./ProcessRecord.ts"
import { type FileOperationFailed, tryFileOperation, isFileMissing, readRegularFile } from "../HostFiles.ts"

/** A version of the runtime's program, readable for every instance. */
export interface RuntimeBundle {
  /** Digest of its content. */
  readonly digest: string
  readonly file: string
}

/** Pinned version of an owner's instance. */
const BundlePin = Schema.Struct({ bundle: Schema.String })
const BundlePinText = Schema.parseJson(BundlePin)
const decodePin = Schema.decodeOption(BundlePinText)

/** A concurrently starting backend may have installed its program without using it yet. */
const unusedBundleGrace = 60 * 60 * 1000

const readPin = ({ bundlePin }: InstanceDirectory): Effect.Effect<Option.Option<string>, FileOperationFailed> =>
  Effect.map(readRegularFile(bundlePin, 4096), (text) =>
    Option.map(Option.flatMap(text, decodePin), ({ bundle }) => bundle)
  )

export interface RuntimeBundles {
  readonly newest: RuntimeBundle
  /** Returns the owner's version if installed, else the newest. */
  readonly findPinned: (directory: InstanceDirectory) => Effect.Effect<RuntimeBundle, FileOperationFailed>
  readonly pin: (directory: InstanceDirectory, bundle: RuntimeBundle) => Effect.Effect<void, FileOperationFailed>
  /** Deletes versions that no instance runs or pins. */
  readonly removeUnused: Effect.Effect<void>
}

/** `newest` is the file `<root>/.bundle/<digest>/runtime.mjs`. */
export const make = (root: string, file: string): RuntimeBundles => {
  const directory = dirname(dirname(file))
  const newest: RuntimeBundle = { digest: basename(dirname(file)), file }
  const bundleOf = (digest: string): RuntimeBundle => ({ digest, file: join(directory, digest, basename(file)) })

  const isInstalled = ({ file: path }: RuntimeBundle) =>
    tryFileOperation(`finding ${path}`, () => stat(path)).pipe(
      Effect.as(true),
      Effect.catchIf(isFileMissing, () => Effect.succeed(false))
    )

  const inUse = Effect.gen(function* () {
    const owners = yield* tryFileOperation("listing the instances", () => readdir(root))
    const used = yield* Effect.forEach(
      owners.flatMap((name) => Option.toArray(resolveInstanceDirectory(root, name))),
      (directory) =>
        Effect.map(Effect.all([readPin(directory), ProcessRecord.readProcessRecord(directory)]), ([pin, record]) => [
          ...Option.toArray(pin),
          ...Option.toArray(Option.map(record, ({ bundle }) => bundle))
        ]),
      { concurrency: 8 }
    )
    return new Set([newest.digest, ...used.flat()])
  })

  const removeUnused = Effect.gen(function* () {
    const used = yield* inUse
    const now = yield* Clock.currentTimeMillis
    yield* tryFileOperation("deleting unused programs", async () => {
      for (const digest of await readdir(directory)) {
        const at = join(directory, digest)
        if (used.has(digest) || now - (await stat(at)).mtimeMs < unusedBundleGrace) continue
        await rm(at, { recursive: true, force: true })
      }
    })
  }).pipe(
    Effect.catchAll(({ message }) =>
      Effect.logWarning("Unused runtime versions not deleted").pipe(Effect.annotateLogs({ reason: message }))
    )
  )

  return {
    newest,
    findPinned: (directory) =>
      Effect.gen(function* () {
        const pin = yield* readPin(directory)
        // Only a digest may be part of a path.
        if (Option.isNone(pin) || !/^[0-9a-f]{8,64}$/.test(pin.value)) return newest
        const bundle = bundleOf(pin.value)
        return (yield* isInstalled(bundle)) ? bundle : newest
      }),
    pin: ({ bundlePin }, { digest }) =>
      tryFileOperation(`writing ${bundlePin}`, () =>
        writeFileAtomically(bundlePin, Schema.encodeSync(BundlePinText)({ bundle: digest }))
      ),
    removeUnused
  }
}
