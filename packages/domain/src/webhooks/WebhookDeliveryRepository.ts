import { Context, type DateTime, type Effect } from "effect"
import type { ClaimedDelivery, WebhookDelivery } from "./WebhookDelivery.ts"
import type { WebhookDeliveryId, WebhookEndpoint, WebhookEndpointId } from "./WebhookEndpoint.ts"

interface EventRange {
  readonly since: DateTime.Utc
  readonly until: DateTime.Utc
  /** False includes delivered events. */
  readonly failedOnly: boolean
}

export class WebhookDeliveryRepository extends Context.Tag("@berth/WebhookDeliveryRepository")<
  WebhookDeliveryRepository,
  {
    /**
     * Claims due deliveries of enabled endpoints for `claimDuration`, endpoints in turn. Concurrent claims are
     * disjoint. An ordered endpoint offers only its oldest pending delivery.
     */
    readonly claim: (limit: number, now: DateTime.Utc) => Effect.Effect<ReadonlyArray<ClaimedDelivery>>
    /**
     * Records a successful attempt, which ends the endpoint's failing time. No effect if the attempt lost its claim.
     */
    readonly recordDelivered: (
      claimed: ClaimedDelivery,
      result: { readonly status: number; readonly now: DateTime.Utc }
    ) => Effect.Effect<void>
    /** A null `retryAt` marks the delivery as failed. No effect if the attempt lost its claim. */
    readonly recordFailed: (
      claimed: ClaimedDelivery,
      result: {
        readonly status: number | null
        readonly failure: string
        readonly retryAt: DateTime.Utc | null
        readonly now: DateTime.Utc
      }
    ) => Effect.Effect<void>
    /** Newest event first. */
    readonly list: (
      endpointId: WebhookEndpointId,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<{ readonly deliveries: ReadonlyArray<WebhookDelivery>; readonly total: number }>
    /** Marks a delivery as pending; false if the endpoint has no such delivery. */
    readonly replay: (endpointId: WebhookEndpointId, id: WebhookDeliveryId, now: DateTime.Utc) => Effect.Effect<boolean>
    /**
     * As `replay`, for the events of a range, including those missed while the endpoint was disabled. Returns their
     * number.
     */
    readonly replayRange: (endpoint: WebhookEndpoint, range: EventRange, now: DateTime.Utc) => Effect.Effect<number>
    /** Waits until any process adds deliveries, at most for the poll interval. */
    readonly awaitDue: Effect.Effect<void>
    /** Deletes older events with their deliveries; returns their number. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
