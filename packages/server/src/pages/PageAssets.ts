import { Context, Option } from "effect"
import { createHash } from "node:crypto"

/** Style sheet and scripts of the pages, as built. */
export const assetNames = ["style.css", "scheme.js", "login.js", "signup.js"] as const
export type AssetName = (typeof assetNames)[number]

export interface Asset {
  readonly contentType: string
  readonly bytes: Uint8Array
  /** Content hash. */
  readonly hash: string
}

export const assetsPath = "/assets"

export class PageAssets extends Context.Tag("@berth/PageAssets")<
  PageAssets,
  {
    readonly find: (name: string) => Option.Option<Asset>
    /** Returns a URL that changes with the content, so that browsers can cache it. */
    readonly address: (name: AssetName) => string
  }
>() {}

const typeOf = (name: string) => (name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8")

const assetOf = (name: string, bytes: Uint8Array): Asset => ({
  contentType: typeOf(name),
  bytes,
  hash: createHash("sha256").update(bytes).digest("base64url").slice(0, 22)
})

export const make = (files: ReadonlyMap<string, Uint8Array>): Context.Tag.Service<PageAssets> => {
  const assets = new Map([...files].map(([name, bytes]) => [name, assetOf(name, bytes)]))
  return {
    find: (name) => Option.fromNullable(assets.get(name)),
    address: (name) => `${assetsPath}/${name}?v=${assets.get(name)?.hash ?? ""}`
  }
}
