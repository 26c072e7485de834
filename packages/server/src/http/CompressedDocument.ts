import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import type { Asset } from "../pages/PageAssets.ts"
import { makeAssetResponse } from "../pages/AssetsHttp.ts"

const compress = promisify(gzip)

const makeAsset = (bytes: Uint8Array, contentType: string): Asset => ({
  bytes,
  contentType,
  hash: createHash("sha256").update(bytes).digest("base64url")
})

/**
 * Compresses a response once and returns a handler for requests: compressed if accepted, 304 if its hash is known to
 * the client.
 */
export const makeCompressedDocument = Effect.fnUntraced(function* (response: HttpServerResponse.HttpServerResponse) {
  const { body } = response
  if (body._tag !== "Uint8Array") return Effect.succeed(response)
  const plain = makeAsset(body.body, body.contentType)
  const packed = makeAsset(yield* Effect.promise(() => compress(body.body)), body.contentType)
  return Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const isPacked = /\bgzip\b(?!\s*;\s*q=0(\.0+)?\s*(,|$))/.test(headers["accept-encoding"] ?? "")
    const etag = headers["if-none-match"]
    const answer = makeAssetResponse(isPacked ? packed : plain, { etag, version: null })
    return HttpServerResponse.setHeaders(answer, {
      vary: "accept-encoding",
      ...(isPacked && answer.status === 200 ? { "content-encoding": "gzip" } : {})
    })
  })
})
