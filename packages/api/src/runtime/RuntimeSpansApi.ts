import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { RuntimeSpanBatch, runtimeSpansPath } from "./RuntimeContract.ts"
import { RuntimeAuth } from "./RuntimeModelApi.ts"

const relay = HttpApiEndpoint.post("relay", runtimeSpansPath)
  .setPayload(RuntimeSpanBatch)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(RateLimitExceededBody)
  .middleware(RuntimeAuth)
  .annotate(OpenApi.Summary, "Relay spans of an instance to the collector")

/** Relays spans of runtimes to the collector. Its credentials stay in the backend. */
export class RuntimeSpansApi extends HttpApiGroup.make("runtimeSpans").add(relay) {}
