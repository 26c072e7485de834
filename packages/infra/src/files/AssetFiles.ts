import { Data, Effect } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

/** A built file is missing next to the program. */
class AssetMissing extends Data.TaggedError("AssetMissing")<{
  readonly file: string
  readonly cause: unknown
}> {
  override readonly message = `The file ${this.file}, which the build makes, cannot be read: ${String(this.cause)}`
}

const readAsset = (file: string) =>
  Effect.tryPromise({ try: () => readFile(file), catch: (cause) => new AssetMissing({ file, cause }) })

export const readAssets = (
  directory: string,
  names: ReadonlyArray<string>
): Effect.Effect<ReadonlyMap<string, Uint8Array>, AssetMissing> =>
  Effect.map(
    Effect.forEach(
      names,
      (name) => Effect.map(readAsset(join(directory, name)), (bytes): readonly [string, Uint8Array] => [name, bytes]),
      { concurrency: "unbounded" }
    ),
    (files) => new Map(files)
  )
