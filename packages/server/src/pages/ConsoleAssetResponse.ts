import { HttpServerResponse } from "@effect/platform"
import type { ConsoleAsset } from "./ConsoleAssets.ts"

const encodings = [
  ["br", "brotli"],
  ["gzip", "gzip"]
] as const

/** Names are hashes of contents, so an answer never changes. */
export const makeConsoleAssetResponse = (
  asset: ConsoleAsset,
  acceptEncoding: string | undefined
): HttpServerResponse.HttpServerResponse => {
  const accepted = new Set((acceptEncoding ?? "").split(",").map((entry) => entry.trim().toLowerCase()))
  const [encoding, form] = encodings.find(([name]) => accepted.has(name)) ?? [undefined, "bytes" as const]
  return HttpServerResponse.uint8Array(asset[form], {
    contentType: asset.contentType,
    headers: {
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      ...(encoding === undefined ? {} : { "content-encoding": encoding })
    }
  })
}
