import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { measureQueues } from "@berth/domain/jobs/QueueMetrics"
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer, Option } from "effect"
import { createServer } from "node:http"
import type { Settings } from "../configuration/Settings.ts"

/** Serves `/metrics` with the current figures of this process and of the queues. */
export const metricsEndpoint = (text: Effect.Effect<string>) =>
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

/** Listener at `METRICS_PORT`, if set. If the port is in use, the process runs without it. */
export const fromSettings = ({ metrics: { host, port } }: Pick<Settings, "metrics">, text: Effect.Effect<string>) =>
  Option.match(port, {
    onNone: () => Layer.empty,
    onSome: (port) =>
      HttpLayerRouter.serve(metricsEndpoint(text), { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(NodeHttpServer.layer(createServer, { host, port })),
        Layer.catchAll(({ cause }) =>
          Layer.effectDiscard(
            Effect.logWarning(`The metrics listener cannot bind METRICS_PORT ${port}; set another port`, cause)
          )
        )
      )
  })
