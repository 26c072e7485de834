import { Context, type DateTime, type Effect, type Option, type Redacted } from "effect"
import type { UserId } from "../shared/UserId.ts"
import type { DisabledReason, WebhookEndpoint, WebhookEndpointId } from "./WebhookEndpoint.ts"

/** Stores endpoints. Secrets are sealed in their rows. */
export class WebhookEndpointRepository extends Context.Tag("@berth/WebhookEndpointRepository")<
  WebhookEndpointRepository,
  {
    /** False if the user already has `limit` endpoints. Exact under concurrency. */
    readonly insert: (endpoint: WebhookEndpoint, secret: Redacted.Redacted, limit: number) => Effect.Effect<boolean>
    /** Newest first. */
    readonly listOwned: (userId: UserId) => Effect.Effect<ReadonlyArray<WebhookEndpoint>>
    readonly findOwned: (userId: UserId, id: WebhookEndpointId) => Effect.Effect<Option.Option<WebhookEndpoint>>
    readonly removeOwned: (userId: UserId, id: WebhookEndpointId) => Effect.Effect<boolean>
    /** Removes the endpoints created at `since` or later. */
    readonly removeSince: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
    /** Returns the current secret, then the previous one while it is valid. */
    readonly readSecrets: (id: WebhookEndpointId, now: DateTime.Utc) => Effect.Effect<ReadonlyArray<Redacted.Redacted>>
    /** The replaced secret stays valid until `overlapUntil`. Joins the running transaction. */
    readonly replaceSecret: (
      id: WebhookEndpointId,
      secret: Redacted.Redacted,
      overlapUntil: DateTime.Utc
    ) => Effect.Effect<void>
    readonly enable: (id: WebhookEndpointId) => Effect.Effect<void>
    /**
     * Ends pending deliveries too. False if the endpoint is already disabled or deleted. Joins the running transaction.
     */
    readonly disable: (id: WebhookEndpointId, reason: DisabledReason, now: DateTime.Utc) => Effect.Effect<boolean>
  }
>() {}
