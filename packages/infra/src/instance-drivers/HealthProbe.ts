import { Data, Duration, Effect, Option, type Redacted } from "effect"
import type { RuntimeClient } from "../runtime/RuntimeClient.ts"

/** The process or container was started, but its runtime did not become ready. */
export class RuntimeNotReady extends Data.TaggedError("RuntimeNotReady")<{ readonly reason: string }> {
  override readonly message = this.reason
}

/** The runtime's response to a health request with the token. */
export type HealthProbeResult = "healthy" | "rejected" | "unresponsive"

/** Consecutive health checks without a response, two seconds each, after which an instance counts as hung. */
export const maximumMissedHealthChecks = 3

/** Checks whether a runtime responds at the endpoint and accepts the token. */
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

/** Describes why a running instance is replaced. */
export const describeProbe = (result: HealthProbeResult) =>
  result === "rejected" ? "it has another token" : "it does not respond"

export const readyTimeout = Duration.seconds(15)
/** Interval of health requests to a starting runtime. */
const pollInterval = Duration.millis(100)

interface ReadinessOptions<E, E2> {
  readonly client: RuntimeClient
  readonly endpoint: string
  readonly token: Redacted.Redacted
  /** Fails at the end of the container. */
  readonly ended: Effect.Effect<never, E>
  /** Text for the message of a timeout. */
  readonly explain: Effect.Effect<string, E2>
  /** Completes at the next activity, which triggers a health request. */
  readonly nextSign: Effect.Effect<unknown>
}

/** Waits until a runtime accepts the token. */
export const awaitReady = <E, E2>({ client, ended, endpoint, explain, nextSign, token }: ReadinessOptions<E, E2>) =>
  client.health({ endpoint, token }).pipe(
    Effect.tapErrorTag("RuntimeUnresponsive", () => Effect.timeoutOption(nextSign, pollInterval)),
    Effect.retry({ while: ({ _tag }) => _tag === "RuntimeUnresponsive" }),
    Effect.mapError((error) => new RuntimeNotReady({ reason: "reason" in error ? error.reason : error.message })),
    Effect.raceFirst(ended),
    Effect.timeoutOption(readyTimeout),
    Effect.flatMap(
      Option.match({
        onSome: Effect.succeed,
        onNone: () =>
          Effect.flatMap(
            explain,
            (more) => new RuntimeNotReady({ reason: `it was not ready within ${Duration.format(readyTimeout)}${more}` })
          )
      })
    )
  )
