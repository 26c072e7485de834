import { Context, type DateTime, type Effect } from "effect"
import type { ClaimedDelivery, WebhookDelivery } from "./WebhookDelivery.ts"
import type { WebhookDeliveryId, WebhookEndpoint, WebhookEndpointId } from "./WebhookEndpoint.ts"

export interface EventRange {
  readonly since: DateTime.Utc
  readonly until: DateTime.Utc
  /** False: also events that were delivered. */
  readonly failedOnly: boolean
}

export class WebhookDeliveryRepository extends Context.Tag("@berth/WebhookDeliveryRepository")<
  WebhookDeliveryRepository,
  {
    /**
     * Takes due deliveries of enabled endpoints until `claimDuration` from now, endpoints in turn. Concurrent claims never
     * take the same one. An ordered endpoint offers its oldest pending delivery alone.
     */
    readonly claim: (limit: number, now: DateTime.Utc) => Effect.Effect<ReadonlyArray<ClaimedDelivery>>
    /** Records the end of an attempt, and that of the endpoint's failing time. Without effect when the attempt lost its claim. */
    readonly recordDelivered: (
      claimed: ClaimedDelivery,
      result: { readonly status: number; readonly now: DateTime.Utc }
    ) => Effect.Effect<void>
    /** Null `retryAt`: the delivery has failed. Without effect when the attempt lost its claim. */
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
    /** Makes a delivery pending again; false when the endpoint has none with this id. */
    readonly replay: (endpointId: WebhookEndpointId, id: WebhookDeliveryId, now: DateTime.Utc) => Effect.Effect<boolean>
    /** The same for the events of a range, those that the endpoint missed while it was disabled included. Returns their number. */
    readonly replayRange: (endpoint: WebhookEndpoint, range: EventRange, now: DateTime.Utc) => Effect.Effect<number>
    /** Waits until any process has added deliveries, or the poll interval ends. */
    readonly awaitDue: Effect.Effect<void>
    /** Deletes older events with their deliveries; returns their number. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
