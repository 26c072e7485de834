import { Context, Option, Schema } from "effect"

export const consoleAssetsPath = "/assets/console"

/** A file of the console with its hashed name and its compressed forms. */
export interface ConsoleAsset {
  readonly name: string
  readonly contentType: string
  readonly bytes: Uint8Array
  readonly gzip: Uint8Array
  readonly brotli: Uint8Array
}

/** Files of the console, as built. */
export class ConsoleAssets extends Context.Tag("@berth/ConsoleAssets")<
  ConsoleAssets,
  {
    readonly find: (name: string) => Option.Option<ConsoleAsset>
    /** Script and style sheet of the entry. */
    readonly script: string
    readonly style: string
    /** Scripts imported by the entry's script. */
    readonly preloads: ReadonlyArray<string>
  }
>() {}

/** Manifest of the files, whose names the build chooses. */
export const consoleManifest = "manifest.json"

export const ConsoleManifest = Schema.Struct({
  script: Schema.String,
  style: Schema.String,
  preloads: Schema.Array(Schema.String),
  files: Schema.Array(Schema.String)
})
export type ConsoleManifest = typeof ConsoleManifest.Type

/** Lists names on disk: each file and its compressed forms. */
export const listConsoleFiles = ({ files }: ConsoleManifest): ReadonlyArray<string> =>
  files.flatMap((name) => [name, `${name}.gz`, `${name}.br`])

const typeOf = (name: string) => (name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8")

export const make = (
  { files, preloads, script, style }: ConsoleManifest,
  contents: ReadonlyMap<string, Uint8Array>
): Context.Tag.Service<ConsoleAssets> => {
  const read = (name: string) => contents.get(name) ?? new Uint8Array()
  const assets = new Map(
    files.map((name) => [
      name,
      { name, contentType: typeOf(name), bytes: read(name), gzip: read(`${name}.gz`), brotli: read(`${name}.br`) }
    ])
  )
  return { find: (name) => Option.fromNullable(assets.get(name)), script, style, preloads }
}
