import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Context, Duration, Effect, Layer, Record } from "effect"

/** Dependencies of a process by name; a check succeeds if the dependency responds. */
export class ReadinessChecks extends Context.Tag("@berth/ReadinessChecks")<
  ReadinessChecks,
  { readonly checks: Readonly<Record<string, Effect.Effect<unknown, unknown>>> }
>() {}

const checkTimeout = Duration.seconds(3)

/** Handlers run uninterruptibly, so a hanging check is disconnected to respond in time. */
const runCheck = (check: Effect.Effect<unknown, unknown>, dependency: string) =>
  Effect.interruptible(Effect.disconnect(check).pipe(Effect.timeout(checkTimeout))).pipe(
    Effect.as(true),
    Effect.catchAllCause((cause) =>
      Effect.logWarning("Dependency does not respond", cause).pipe(
        Effect.annotateLogs({ dependency }),
        Effect.as(false)
      )
    )
  )

const live = HttpLayerRouter.add("GET", "/health/live", HttpServerResponse.unsafeJson({ status: "ok" }))

const ready = HttpLayerRouter.use((router) =>
  Effect.flatMap(ReadinessChecks, ({ checks }) =>
    router.add(
      "GET",
      "/health/ready",
      Effect.map(Effect.all(Record.map(checks, runCheck), { concurrency: "unbounded" }), (results) => {
        const isReady = Object.values(results).every((isUp) => isUp)
        return HttpServerResponse.unsafeJson(
          { status: isReady ? "ok" : "unavailable", checks: results },
          { status: isReady ? 200 : 503 }
        )
      })
    )
  )
)

/** `/health/live` responds while the process runs; `/health/ready` responds with 503 if a check fails. */
export const healthRoutes = Layer.merge(live, ready)
