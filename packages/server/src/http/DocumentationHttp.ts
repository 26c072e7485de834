import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import type { HttpApi, HttpApiGroup } from "@effect/platform"
import { Effect, Layer } from "effect"
import { makeCompressedDocument } from "./CompressedDocument.ts"
import { makePlainRoute } from "./RouteTable.ts"

// The page is one document with inline styles and an inline script, which compiles a WebAssembly module.
const documentationPolicy = [
  "default-src 'none'",
  "script-src 'unsafe-inline' 'wasm-unsafe-eval'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

export const documentationRoutes = [
  makePlainRoute("GET", "/openapi.json"),
  { ...makePlainRoute("GET", "/docs"), headers: { "content-security-policy": documentationPolicy } }
]

/** Makes the reference of a contract; four megabytes. */
const makeReference = Effect.fnUntraced(function* <
  Id extends string,
  Groups extends HttpApiGroup.HttpApiGroup.Any,
  E,
  R
>(api: HttpApi.HttpApi<Id, Groups, E, R>) {
  const router = yield* HttpLayerRouter.make
  const HttpApiScalar = yield* Effect.promise(() => import("@effect/platform/HttpApiScalar"))
  const reference = HttpApiScalar.layerHttpLayerRouter({ api, path: "/docs", scalar: { withDefaultFonts: false } })
  yield* Effect.scoped(Layer.build(Layer.provide(reference, Layer.succeed(HttpLayerRouter.HttpRouter, router))))
  return yield* makeCompressedDocument(yield* Effect.orDie(router.asHttpEffect()))
})

/** Serves `/docs`, built by the first request. The routes of the contract serve `/openapi.json`. */
export const layer = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>
) =>
  HttpLayerRouter.use((router) =>
    Effect.flatMap(Effect.cached(makeReference(api)), (reference) =>
      router.add("GET", "/docs", Effect.flatten(reference))
    )
  )

export const frontRoutes = [makePlainRoute("GET", "/")]

/** Redirects `/` to the reference on a listener without pages. */
export const frontRedirect = HttpLayerRouter.add("GET", "/", HttpServerResponse.redirect("/docs", { status: 302 }))
