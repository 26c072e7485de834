import { Effect, type Redacted } from "effect"
import type { RuntimeClient } from "../runtime/RuntimeClient.ts"

/** The runtime's response to a health request with the token. */
export type HealthProbeResult = "healthy" | "rejected" | "unresponsive"

/** Consecutive health checks without an answer, two seconds each, until an instance counts as hung. */
export const maximumMissedHealthChecks = 3

/** Whether a runtime answers at the endpoint, and accepts the token. */
export const probeHealth = (
  client: RuntimeClient,
  endpoint: string,
  token: Redacted.Redacted
): Effect.Effect<HealthProbeResult> =>
  client.health({ endpoint, token }).pipe(
    Effect.match({
      onSuccess: () => "healthy",
      onFailure: (error) =>
        error._tag === "RuntimeRequestRejected" && error.status === 401 ? "rejected" : "unresponsive"
    })
  )
