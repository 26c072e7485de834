import { HttpApiScalar, HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import type { HttpApi, HttpApiGroup } from "@effect/platform"
import { makePlainRoute } from "./RouteTable.ts"

// The page is one document with an inline script, which compiles a WebAssembly module, and inline styles.
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

/** Serves `/docs`, the reference of a contract; the contract's routes serve `/openapi.json`. */
export const layer = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>
) => HttpApiScalar.layerHttpLayerRouter({ api, path: "/docs", scalar: { withDefaultFonts: false } })

export const frontRoutes = [makePlainRoute("GET", "/")]

/** Redirects `/` to the reference on a listener without pages. */
export const frontRedirect = HttpLayerRouter.add("GET", "/", HttpServerResponse.redirect("/docs", { status: 302 }))
