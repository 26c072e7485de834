import { Clock, Effect, Option, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { readdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { type InstanceDirectory, resolveInstanceDirectory } from "./InstanceDirectory.ts"
import * as ProcessRecord from "./ProcessRecord.ts"
import { type FileOperationFailed, tryFileOperation, isFileMissing, readRegularFile } from "./HostFiles.ts"

/** A version of the runtime's program, readable for every cell. */
export interface RuntimeBundle {
  /** Made from its content, as an image's digest is. */
  readonly digest: string
  readonly file: string
}

/** Which version an owner's cells run. */
const BundlePin = Schema.Struct({ bundle: Schema.String })
const BundlePinText = Schema.parseJson(BundlePin)
const decodePin = Schema.decodeOption(BundlePinText)

/** A backend that comes up beside this one may have put its program there and not yet used it. */
const unusedBundleGrace = 60 * 60 * 1000

const readPin = ({ bundlePin }: InstanceDirectory): Effect.Effect<Option.Option<string>, FileOperationFailed> =>
  Effect.map(readRegularFile(bundlePin, 4096), (text) =>
    Option.map(Option.flatMap(text, decodePin), ({ bundle }) => bundle)
  )

export interface RuntimeBundles {
  readonly newest: RuntimeBundle
  /** What the owner's cell ran last, while it is still there; else the newest. */
  readonly findPinned: (place: InstanceDirectory) => Effect.Effect<RuntimeBundle, FileOperationFailed>
  /** The owner's cells run this version from now on. */
  readonly pin: (place: InstanceDirectory, bundle: RuntimeBundle) => Effect.Effect<void, FileOperationFailed>
  /** Deletes the versions that no cell runs or would be started with. */
  readonly removeUnused: Effect.Effect<void, FileOperationFailed>
}

/** `newest` is the file `<root>/.bundle/<digest>/runtime.mjs`. */
export const make = (root: string, file: string): RuntimeBundles => {
  const directory = dirname(dirname(file))
  const newest: RuntimeBundle = { digest: basename(dirname(file)), file }
  const bundleOf = (digest: string): RuntimeBundle => ({ digest, file: join(directory, digest, basename(file)) })

  const there = ({ file: path }: RuntimeBundle) =>
    tryFileOperation(`looking for ${path}`, () => stat(path)).pipe(
      Effect.as(true),
      Effect.catchIf(isFileMissing, () => Effect.succeed(false))
    )

  const inUse = Effect.gen(function* () {
    const owners = yield* tryFileOperation("listing the cells", () => readdir(root))
    const used = yield* Effect.forEach(
      // Names of directories that were made from owners' ids.
      owners.flatMap((name) => Option.toArray(resolveInstanceDirectory(root, name))),
      (place) =>
        Effect.map(Effect.all([readPin(place), ProcessRecord.readProcessRecord(place)]), ([pin, record]) => [
          ...Option.toArray(pin),
          ...Option.toArray(Option.map(record, ({ bundle }) => bundle))
        ]),
      { concurrency: 8 }
    )
    return new Set([newest.digest, ...used.flat()])
  })

  return {
    newest,
    findPinned: (place) =>
      Effect.gen(function* () {
        const pin = yield* readPin(place)
        // A name of another form leads nowhere.
        if (Option.isNone(pin) || !/^[0-9a-f]{8,64}$/.test(pin.value)) return newest
        const bundle = bundleOf(pin.value)
        return (yield* there(bundle)) ? bundle : newest
      }),
    pin: ({ bundlePin }, { digest }) =>
      tryFileOperation(`writing ${bundlePin}`, async () => {
        const unfinished = `${bundlePin}.${randomUUID()}`
        await writeFile(unfinished, Schema.encodeSync(BundlePinText)({ bundle: digest }), { mode: 0o600, flag: "wx" })
        await rename(unfinished, bundlePin)
      }),
    removeUnused: Effect.gen(function* () {
      const used = yield* inUse
      const now = yield* Clock.currentTimeMillis
      yield* tryFileOperation("deleting unused programs", async () => {
        for (const digest of await readdir(directory)) {
          const at = join(directory, digest)
          if (used.has(digest) || now - (await stat(at)).mtimeMs < unusedBundleGrace) continue
          await rm(at, { recursive: true, force: true })
        }
      })
    })
  }
}
