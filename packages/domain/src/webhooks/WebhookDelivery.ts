import { DateTime, Duration, Schema } from "effect"
import type { StoredEvent } from "../events/DomainEvent.ts"
import type { TraceParent } from "../jobs/JobKind.ts"
import { type DisabledReason, WebhookDeliveryId, type WebhookEndpoint } from "./WebhookEndpoint.ts"

export const WebhookDeliveryStatus = Schema.Literal("pending", "delivered", "failed").annotations({
  identifier: "WebhookDeliveryStatus"
})

/** Delivery of an event to an endpoint, with its latest attempt. */
export const WebhookDelivery = Schema.Struct({
  id: WebhookDeliveryId,
  eventId: Schema.String,
  kind: Schema.String,
  status: WebhookDeliveryStatus,
  /** Attempts since the event, or since the latest replay. */
  attempts: Schema.Int,
  dueAt: Schema.DateTimeUtcFromSelf,
  attemptedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  responseStatus: Schema.NullOr(Schema.Int),
  failure: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromSelf
})
export type WebhookDelivery = typeof WebhookDelivery.Type

/** A delivery that this worker holds until the claim expires. `attempt` counts from 1. */
export interface ClaimedDelivery {
  readonly id: WebhookDeliveryId
  readonly attempt: number
  readonly endpoint: WebhookEndpoint
  readonly event: StoredEvent
  readonly occurredAt: DateTime.Utc
  readonly trace: TraceParent | null
}

/** Longer than an attempt. Another worker repeats an attempt whose worker died. */
export const claimDuration = Duration.minutes(1)

/** Maximum concurrent deliveries of an endpoint; one while it fails or is ordered. */
export const maximumInFlightPerEndpoint = 4

/** Maximum concurrent deliveries to the endpoints of an owner, so that slow receivers leave slots for other owners. */
export const maximumAttemptsPerOwner = 8

/** Pauses after failed attempts, over three days in total. */
export const retryPauses: ReadonlyArray<Duration.Duration> = [
  Duration.seconds(5),
  Duration.minutes(5),
  Duration.minutes(30),
  Duration.hours(2),
  Duration.hours(5),
  Duration.hours(10),
  Duration.hours(14),
  Duration.hours(20),
  Duration.hours(24)
]

/** Time without a successful delivery after which an endpoint is disabled. */
export const maximumFailingTime = Duration.days(5)

/** Retention of events and their deliveries. */
export const eventRetention = Duration.days(30)

/**
 * Returns the pause before the next attempt, increased by up to a fifth for `random` from 0 to 1; none after the last
 * attempt.
 */
export const findRetryPause = (failedAttempts: number, random: number): Duration.Duration | undefined => {
  const pause = retryPauses[failedAttempts - 1]
  return pause === undefined ? undefined : Duration.times(pause, 1 + random / 5)
}

/** Response of a receiver, or the reason for its absence. */
export type DeliveryResponse = { readonly status: number } | { readonly failure: string }

type DeliveryOutcome =
  | { readonly _tag: "Delivered"; readonly status: number }
  | {
      readonly _tag: "Failed"
      readonly status: number | null
      readonly failure: string
      /** Null after the last attempt. */
      readonly retryAt: DateTime.Utc | null
      readonly disable: DisabledReason | null
    }

/** Decides the state after an attempt. */
export const decideDelivery = (
  response: DeliveryResponse,
  {
    attempt,
    failingSince,
    now,
    random
  }: {
    readonly attempt: number
    readonly failingSince: DateTime.Utc | null
    readonly now: DateTime.Utc
    readonly random: number
  }
): DeliveryOutcome => {
  const status = "status" in response ? response.status : null
  if (status !== null && status >= 200 && status < 300) return { _tag: "Delivered", status }
  const failure = "failure" in response ? response.failure : `status ${response.status}`
  if (status === 410) return { _tag: "Failed", status, failure, retryAt: null, disable: "gone" }
  const pause = findRetryPause(attempt, random)
  const isFailing =
    failingSince !== null &&
    Duration.greaterThanOrEqualTo(DateTime.distanceDuration(failingSince, now), maximumFailingTime)
  return {
    _tag: "Failed",
    status,
    failure,
    retryAt: pause === undefined || isFailing ? null : DateTime.addDuration(now, pause),
    disable: isFailing ? "failing" : null
  }
}

/**
 * Encodes the payload of Standard Webhooks, as stored. Kinds of a newer version are delivered too, so they never block
 * others.
 */
export const encodeWebhookPayload = ({
  event: { data, kind },
  occurredAt
}: Pick<ClaimedDelivery, "event" | "occurredAt">): string =>
  JSON.stringify({ type: kind, timestamp: DateTime.formatIso(occurredAt), data })
