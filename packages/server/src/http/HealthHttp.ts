import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Context, Duration, Effect, Layer, Record } from "effect"
import { makePlainRoute } from "./RouteTable.ts"

/** Whether this process can do its work: each named check of something it needs. */
export class ReadinessChecks extends Context.Tag("@berth/ReadinessChecks")<
  ReadinessChecks,
  { readonly checks: Readonly<Record<string, Effect.Effect<boolean>>> }
>() {}

export const healthRoutes = [makePlainRoute("GET", "/health/live"), makePlainRoute("GET", "/health/ready")]

const live = HttpLayerRouter.add("GET", "/health/live", HttpServerResponse.unsafeJson({ status: "ok" }))

const checkTimeout = Duration.seconds(3)

/** A request runs uninterruptibly around its handler: a check that hangs is left to itself, so that the answer does not. */
const inTime = (check: Effect.Effect<boolean>) =>
  Effect.interruptible(
    Effect.disconnect(check).pipe(
      Effect.timeoutTo({ duration: checkTimeout, onSuccess: (isUp: boolean) => isUp, onTimeout: () => false })
    )
  )

const ready = HttpLayerRouter.use((router) =>
  Effect.flatMap(ReadinessChecks, ({ checks }) =>
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
