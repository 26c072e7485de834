import { RouteNotFound, RouteNotFoundBody } from "@berth/api/http/TransportErrors"
import { HttpLayerRouter, HttpRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option } from "effect"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { isKnownByClient } from "../http/EntityTags.ts"
import { makePlainRoute } from "../http/RouteTable.ts"
import { type Asset, assetsPath, PageAssets } from "./PageAssets.ts"

const path = `${assetsPath}/:name` as const
export const assetRoutes = [makePlainRoute("GET", path)]

/** Immutable at the URL with its hash; at the URL of another release it is revalidated. */
export const makeAssetResponse = (
  { bytes, contentType, hash }: Asset,
  { etag, version }: { readonly etag: string | undefined; readonly version: string | null }
): HttpServerResponse.HttpServerResponse => {
  const tag = `"${hash}"`
  const headers = {
    etag: tag,
    "cache-control": version === hash ? "public, max-age=31536000, immutable" : "public, no-cache"
  }
  return isKnownByClient(etag, tag)
    ? HttpServerResponse.empty({ status: 304, headers })
    : HttpServerResponse.uint8Array(bytes, { contentType, headers })
}

/** Serves the style sheet and the scripts of the pages. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const assets = yield* PageAssets
    yield* router.add(
      "GET",
      path,
      Effect.gen(function* () {
        const { headers, url } = yield* HttpServerRequest.HttpServerRequest
        const { params } = yield* HttpRouter.RouteContext
        const version = new URLSearchParams(url.split("?", 2)[1] ?? "").get("v")
        return Option.match(assets.find(params["name"] ?? ""), {
          onNone: () => makeErrorResponse(RouteNotFoundBody, new RouteNotFound()),
          onSome: (asset) => makeAssetResponse(asset, { etag: headers["if-none-match"], version })
        })
      })
    )
  })
)
