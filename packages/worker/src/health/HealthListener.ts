import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, type Duration, Effect, Layer, Record } from "effect"
import { createServer } from "node:http"

/** What this process cannot work without: each check succeeds when that answers. */
export class WorkerHealthChecks extends Context.Tag("@berth/worker/WorkerHealthChecks")<
  WorkerHealthChecks,
  Readonly<Record<string, Effect.Effect<unknown, unknown>>>
>() {}

const checkTimeout: Duration.DurationInput = "2 seconds"

const runCheck = (check: Effect.Effect<unknown, unknown>, what: string) =>
  check.pipe(
    Effect.timeout(checkTimeout),
    Effect.as(true),
    Effect.catchAllCause((cause) =>
      Effect.logWarning("What this worker needs does not answer", cause).pipe(
        Effect.annotateLogs({ what }),
        Effect.as(false)
      )
    )
  )

const live = HttpLayerRouter.add("GET", "/health/live", HttpServerResponse.unsafeJson({ status: "ok" }))

const ready = HttpLayerRouter.use((router) =>
  Effect.flatMap(WorkerHealthChecks, (checks) =>
    router.add(
      "GET",
      "/health/ready",
      Effect.map(Effect.all(Record.map(checks, runCheck), { concurrency: "unbounded" }), (results) => {
        const isReady = Object.values(results).every((ok) => ok)
        return HttpServerResponse.unsafeJson(
          { status: isReady ? "ok" : "unavailable", checks: results },
          { status: isReady ? 200 : 503 }
        )
      })
    )
  )
)

const other = HttpLayerRouter.add(
  "*",
  "*",
  HttpServerResponse.unsafeJson({ error: "not_found", message: "There is nothing here." }, { status: 404 })
)

/** `/health/live` says that the process runs, also while it drains; `/health/ready` that it can work. */
export const routes = Layer.mergeAll(live, ready, other)

export const layer = (options: { readonly host: string; readonly port: number }) =>
  HttpLayerRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(NodeHttpServer.layer(createServer, options))
  )
