import { Clock, Effect, Option, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { readdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { type CellPlace, cellPlace } from "./CellPlace.ts"
import * as CellRecord from "./CellRecord.ts"
import { type FileTrouble, io, isMissing, readPlain } from "./HostFiles.ts"

/** A version of the runtime's program, readable for every cell. */
export interface Bundle {
  /** Made from its content, as an image's digest is. */
  readonly digest: string
  readonly file: string
}

/** Which version an owner's cells run. */
const Pin = Schema.Struct({ bundle: Schema.String })
const PinText = Schema.parseJson(Pin)
const decodePin = Schema.decodeOption(PinText)

/** A backend that comes up beside this one may have put its program there and not yet used it. */
const spare = 60 * 60 * 1000

const readPin = ({ pin }: CellPlace): Effect.Effect<Option.Option<string>, FileTrouble> =>
  Effect.map(readPlain(pin, 4096), (text) => Option.map(Option.flatMap(text, decodePin), ({ bundle }) => bundle))

export interface Bundles {
  readonly newest: Bundle
  /** What the owner's cell ran last, while it is still there; else the newest. */
  readonly kept: (place: CellPlace) => Effect.Effect<Bundle, FileTrouble>
  /** The owner's cells run this version from now on. */
  readonly keep: (place: CellPlace, bundle: Bundle) => Effect.Effect<void, FileTrouble>
  /** Deletes the versions that no cell runs or would be started with. */
  readonly sweep: Effect.Effect<void, FileTrouble>
}

/** `newest` is the file `<root>/.bundle/<digest>/runtime.mjs`. */
export const make = (root: string, file: string): Bundles => {
  const directory = dirname(dirname(file))
  const newest: Bundle = { digest: basename(dirname(file)), file }
  const bundleOf = (digest: string): Bundle => ({ digest, file: join(directory, digest, basename(file)) })

  const there = ({ file: path }: Bundle) =>
    io(`looking for ${path}`, () => stat(path)).pipe(
      Effect.as(true),
      Effect.catchIf(isMissing, () => Effect.succeed(false))
    )

  const inUse = Effect.gen(function* () {
    const owners = yield* io("listing the cells", () => readdir(root))
    const used = yield* Effect.forEach(
      // Names of directories that were made from owners' ids.
      owners.flatMap((name) => Option.toArray(cellPlace(root, name))),
      (place) =>
        Effect.map(Effect.all([readPin(place), CellRecord.read(place)]), ([pin, record]) => [
          ...Option.toArray(pin),
          ...Option.toArray(Option.map(record, ({ bundle }) => bundle))
        ]),
      { concurrency: 8 }
    )
    return new Set([newest.digest, ...used.flat()])
  })

  return {
    newest,
    kept: (place) =>
      Effect.gen(function* () {
        const pin = yield* readPin(place)
        // A name of another form leads nowhere.
        if (Option.isNone(pin) || !/^[0-9a-f]{8,64}$/.test(pin.value)) return newest
        const bundle = bundleOf(pin.value)
        return (yield* there(bundle)) ? bundle : newest
      }),
    keep: ({ pin }, { digest }) =>
      io(`writing ${pin}`, async () => {
        const unfinished = `${pin}.${randomUUID()}`
        await writeFile(unfinished, Schema.encodeSync(PinText)({ bundle: digest }), { mode: 0o600, flag: "wx" })
        await rename(unfinished, pin)
      }),
    sweep: Effect.gen(function* () {
      const used = yield* inUse
      const now = yield* Clock.currentTimeMillis
      yield* io("deleting unused programs", async () => {
        for (const digest of await readdir(directory)) {
          const at = join(directory, digest)
          if (used.has(digest) || now - (await stat(at)).mtimeMs < spare) continue
          await rm(at, { recursive: true, force: true })
        }
      })
    })
  }
}
