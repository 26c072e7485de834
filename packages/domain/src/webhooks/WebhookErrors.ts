import { Data } from "effect"

/** The user has no such endpoint. */
export class WebhookEndpointNotFound extends Data.TaggedError("WebhookEndpointNotFound")<object> {}
/** The endpoint has no such delivery. */
export class WebhookDeliveryNotFound extends Data.TaggedError("WebhookDeliveryNotFound")<object> {}
/** The request names neither a delivery nor the start of a range. */
export class WebhookReplayIncomplete extends Data.TaggedError("WebhookReplayIncomplete")<object> {}
/** The user has `limit` endpoints. */
export class WebhookEndpointLimitReached extends Data.TaggedError("WebhookEndpointLimitReached")<{
  readonly limit: number
}> {}
/** No address that events can be sent to. */
export class WebhookUrlInvalid extends Data.TaggedError("WebhookUrlInvalid")<{ readonly reason: string }> {}
/** Only administrators receive events of accounts. */
export class AccountEventsNotAllowed extends Data.TaggedError("AccountEventsNotAllowed")<object> {}

/** No response of the receiver. `reason` quotes nothing that it sent. */
export class WebhookReceiverUnreachable extends Data.TaggedError("WebhookReceiverUnreachable")<{
  readonly reason: string
}> {}
