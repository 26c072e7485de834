import { healthRoutes } from "@berth/api/http/Health"
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Layer } from "effect"
import { createServer } from "node:http"

const notFound = HttpLayerRouter.add(
  "*",
  "*",
  HttpServerResponse.unsafeJson({ error: "not_found", message: "This path does not exist." }, { status: 404 })
)

export const routes = Layer.merge(healthRoutes, notFound)

export const layer = (options: { readonly host: string; readonly port: number }) =>
  HttpLayerRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(NodeHttpServer.layer(createServer, options))
  )
