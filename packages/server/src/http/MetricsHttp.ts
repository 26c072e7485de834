import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Context, Effect } from "effect"
import { measureQueues } from "../jobs/QueueMetrics.ts"
import { makePlainRoute } from "./RouteTable.ts"

/** This process's metrics in the Prometheus text format. */
export class MetricsText extends Context.Tag("@berth/MetricsText")<MetricsText, Effect.Effect<string>>() {}

export const metricsRoutes = [makePlainRoute("GET", "/metrics")]

/** `/metrics`, on the private listener only. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.flatMap(Effect.all([MetricsText, JobQueue]), ([text, jobs]) =>
    router.add(
      "GET",
      "/metrics",
      Effect.map(Effect.zipRight(Effect.provideService(measureQueues, JobQueue, jobs), text), (body) =>
        HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
      )
    )
  )
)
