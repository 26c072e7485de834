import { InternalKeyRequired, InternalKeyRequiredBody } from "@berth/api/http/InternalAuth"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { measureQueues } from "@berth/domain/jobs/QueueMetrics"
import { Digests } from "@berth/domain/secrets/Digests"
import { HttpLayerRouter, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Context, Effect, Option } from "effect"
import { readClientAddress } from "./ClientAddress.ts"
import { makeErrorResponse } from "./ErrorResponse.ts"
import { InternalKey, readBearerToken } from "./InternalAuthHttp.ts"
import { makePlainRoute } from "./RouteTable.ts"
import { WebSettings } from "./WebSettings.ts"

/** Metrics of this process. */
export class MetricsExposition extends Context.Tag("@berth/MetricsExposition")<
  MetricsExposition,
  {
    /** In the Prometheus text format. */
    readonly text: Effect.Effect<string>
    /** Whether clients on this host need no internal key. */
    readonly isOpenOnLoopback: boolean
  }
>() {}

export const metricsRoutes = [makePlainRoute("GET", "/metrics")]

const isLoopback = (address: string) => address === "::1" || address.startsWith("127.")

/** Serves `/metrics` to clients with the internal key. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const { isOpenOnLoopback, text } = yield* MetricsExposition
    const jobs = yield* JobQueue
    const key = yield* InternalKey
    const digests = yield* Digests
    const { trustedProxies } = yield* WebSettings
    const isAllowed = (request: HttpServerRequest.HttpServerRequest) =>
      Option.exists(readBearerToken(request), (token) => digests.equal(token, key)) ||
      (isOpenOnLoopback && isLoopback(readClientAddress(request, trustedProxies)))
    const metrics = Effect.map(Effect.zipRight(Effect.provideService(measureQueues, JobQueue, jobs), text), (body) =>
      HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
    )
    yield* router.add("GET", "/metrics", (request) =>
      isAllowed(request)
        ? metrics
        : Effect.succeed(makeErrorResponse(InternalKeyRequiredBody, new InternalKeyRequired()))
    )
  })
)
