import { HttpApiScalar, HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import type { HttpApi, HttpApiGroup } from "@effect/platform"
import { makePlainRoute } from "./RouteTable.ts"

export const documentationRoutes = [makePlainRoute("GET", "/openapi.json"), makePlainRoute("GET", "/docs")]

/** `/docs`, a browsable reference of a contract. `/openapi.json` comes with the contract's routes. */
export const layer = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>
) => HttpApiScalar.layerHttpLayerRouter({ api, path: "/docs" })

export const frontRoutes = [makePlainRoute("GET", "/")]

/** The way to the reference from the front of a listener that has no page there. */
export const frontRedirect = HttpLayerRouter.add("GET", "/", HttpServerResponse.redirect("/docs", { status: 302 }))
