import { HttpApiScalar, HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import type { HttpApi, HttpApiGroup } from "@effect/platform"
import { Layer } from "effect"
import { plainRoute } from "./RouteTable.ts"

export const documentationRoutes = [
  plainRoute("GET", "/openapi.json"),
  plainRoute("GET", "/docs"),
  plainRoute("GET", "/")
]

/** `/docs`, a browsable reference of a contract, and the way there from the front page. `/openapi.json` comes with the contract's routes. */
export const layer = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>
) =>
  Layer.merge(
    HttpApiScalar.layerHttpLayerRouter({ api, path: "/docs" }),
    HttpLayerRouter.add("GET", "/", HttpServerResponse.redirect("/docs", { status: 302 }))
  )
