import { HttpServerResponse } from "@effect/platform"
import type { KnownRoute } from "./RouteTable.ts"

/** Returns the CORS headers of a response; none for endpoints without CORS. */
export const makeCrossOriginHeaders = ({ crossOrigin }: KnownRoute): Readonly<Record<string, string>> =>
  crossOrigin === null || crossOrigin === undefined
    ? {}
    : {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": crossOrigin.responseHeaders.join(", ")
      }

/** Returns the response to a preflight request. */
export const makePreflightResponse = ({ crossOrigin }: Pick<KnownRoute, "crossOrigin">) =>
  HttpServerResponse.empty({
    status: 204,
    headers:
      crossOrigin === null || crossOrigin === undefined
        ? {}
        : {
            "access-control-allow-methods": crossOrigin.methods.join(", "),
            "access-control-allow-headers": crossOrigin.requestHeaders.join(", "),
            "access-control-max-age": String(crossOrigin.maxAgeSeconds)
          }
  })
