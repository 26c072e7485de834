import { HttpServerResponse } from "@effect/platform"
import { isKnownByClient } from "../http/EntityTags.ts"
import type { ConsoleAsset } from "./ConsoleAssets.ts"

const encodings = [
  ["br", "brotli"],
  ["gzip", "gzip"]
] as const

/** Names are content hashes, so a response never changes. */
export const makeConsoleAssetResponse = (
  asset: ConsoleAsset,
  requestHeaders: Readonly<Record<string, string | undefined>>
): HttpServerResponse.HttpServerResponse => {
  const accepted = new Set(
    (requestHeaders["accept-encoding"] ?? "").split(",").map((entry) => entry.trim().toLowerCase())
  )
  const [encoding, form] = encodings.find(([name]) => accepted.has(name)) ?? [undefined, "bytes" as const]
  const etag = `"${asset.name}-${form}"`
  const headers = { etag, "cache-control": "public, max-age=31536000, immutable", vary: "accept-encoding" }
  return isKnownByClient(requestHeaders["if-none-match"], etag)
    ? HttpServerResponse.empty({ status: 304, headers })
    : HttpServerResponse.uint8Array(asset[form], {
        contentType: asset.contentType,
        headers: { ...headers, ...(encoding === undefined ? {} : { "content-encoding": encoding }) }
      })
}
