import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Context, Duration, Effect, Layer, Record } from "effect"
import { plainRoute } from "./RouteTable.ts"

/** Whether this process can do its work: each named check of something it needs. */
export class Readiness extends Context.Tag("@berth/Readiness")<
  Readiness,
  { readonly checks: Readonly<Record<string, Effect.Effect<boolean>>> }
>() {}

export const healthRoutes = [plainRoute("GET", "/health/live"), plainRoute("GET", "/health/ready")]

const live = HttpLayerRouter.add("GET", "/health/live", HttpServerResponse.unsafeJson({ status: "ok" }))

const patience = Duration.seconds(3)

/** A request runs uninterruptibly around its handler: a check that hangs is left to itself, so that the answer does not. */
const inTime = (check: Effect.Effect<boolean>) =>
  Effect.interruptible(
    Effect.disconnect(check).pipe(
      Effect.timeoutTo({ duration: patience, onSuccess: (isUp: boolean) => isUp, onTimeout: () => false })
    )
  )

const ready = HttpLayerRouter.use((router) =>
  Effect.flatMap(Readiness, ({ checks }) =>
    router.add(
      "GET",
      "/health/ready",
      Effect.map(Effect.all(Record.map(checks, inTime), { concurrency: "unbounded" }), (results) => {
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
