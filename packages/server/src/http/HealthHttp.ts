import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Context, Effect, Layer } from "effect"
import { plainRoute } from "./RouteTable.ts"

/** Whether this process can do its work: each named check of something it needs. */
export class Readiness extends Context.Tag("@berth/Readiness")<
  Readiness,
  { readonly checks: Readonly<Record<string, Effect.Effect<boolean>>> }
>() {}

export const healthRoutes = [plainRoute("GET", "/health/live"), plainRoute("GET", "/health/ready")]

const live = HttpLayerRouter.add("GET", "/health/live", HttpServerResponse.unsafeJson({ status: "ok" }))

const ready = HttpLayerRouter.use((router) =>
  Effect.flatMap(Readiness, ({ checks }) =>
    router.add(
      "GET",
      "/health/ready",
      Effect.map(Effect.all(checks, { concurrency: "unbounded" }), (results) => {
        const isReady = Object.values(results).every((ok) => ok)
        return HttpServerResponse.unsafeJson(
          { status: isReady ? "ok" : "unavailable", checks: results },
          { status: isReady ? 200 : 503 }
        )
      })
    )
  )
)

/** `/health/live` says that the process runs, `/health/ready` that it can serve. */
export const layer = Layer.merge(live, ready)
