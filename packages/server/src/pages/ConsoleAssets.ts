import { Context, Option, Schema } from "effect"

export const consoleAssetsPath = "/assets/console"

/** A file of the console under its hashed name, with its compressed forms. */
export interface ConsoleAsset {
  readonly name: string
  readonly contentType: string
  readonly bytes: Uint8Array
  readonly gzip: Uint8Array
  readonly brotli: Uint8Array
}

/** The files of the console, as the build makes them. */
export class ConsoleAssets extends Context.Tag("@berth/ConsoleAssets")<
  ConsoleAssets,
  {
    readonly find: (name: string) => Option.Option<ConsoleAsset>
    /** Names of the entry's script and style sheet. */
    readonly script: string
    readonly style: string
    /** Names of the scripts that the entry's script imports. */
    readonly preloads: ReadonlyArray<string>
  }
>() {}

/** Files whose names the build chooses: the manifest lists them. */
export const consoleManifest = "manifest.json"

export const ConsoleManifest = Schema.Struct({
  script: Schema.String,
  style: Schema.String,
  preloads: Schema.Array(Schema.String),
  files: Schema.Array(Schema.String)
})
export type ConsoleManifest = typeof ConsoleManifest.Type

/** Names on disk: each file and its compressed forms. */
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
