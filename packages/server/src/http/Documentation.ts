import { HttpApiScalar, HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import type { HttpApi, HttpApiGroup } from "@effect/platform"
import { plainRoute } from "./RouteTable.ts"

export const documentationRoutes = [plainRoute("GET", "/openapi.json"), plainRoute("GET", "/docs")]

/** `/docs`, a browsable reference of a contract. `/openapi.json` comes with the contract's routes. */
export const layer = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>
) => HttpApiScalar.layerHttpLayerRouter({ api, path: "/docs" })

export const frontRoutes = [plainRoute("GET", "/")]

/** The way to the reference from the front of a listener that has no page there. */
export const front = HttpLayerRouter.add("GET", "/", HttpServerResponse.redirect("/docs", { status: 302 }))
