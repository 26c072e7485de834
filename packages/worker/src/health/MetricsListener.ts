import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { measureQueues } from "@berth/domain/jobs/QueueMetrics"
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"

/** Serves `/metrics` with the figures of this process and the present ones of the queues. */
export const workerMetricsRoutes = (text: Effect.Effect<string>) =>
  HttpLayerRouter.use((router) =>
    Effect.flatMap(JobQueue, (jobs) =>
      router.add("GET", "/metrics", () =>
        Effect.zipRight(Effect.provideService(measureQueues, JobQueue, jobs), text).pipe(
          Effect.map((body) =>
            HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
          )
        )
      )
    )
  )

export const layer = (options: {
  readonly host: string
  readonly port: number
  readonly text: Effect.Effect<string>
}) =>
  HttpLayerRouter.serve(workerMetricsRoutes(options.text), { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(NodeHttpServer.layer(createServer, options))
  )
