import { Data } from "effect"

export class WebhookEndpointNotFound extends Data.TaggedError("WebhookEndpointNotFound")<object> {}
export class WebhookDeliveryNotFound extends Data.TaggedError("WebhookDeliveryNotFound")<object> {}
/** The request contains neither a delivery nor the start of a range. */
export class WebhookReplayIncomplete extends Data.TaggedError("WebhookReplayIncomplete")<object> {}
export class WebhookEndpointLimitReached extends Data.TaggedError("WebhookEndpointLimitReached")<{
  readonly limit: number
}> {}
/** Events cannot be sent to the address. */
export class WebhookUrlInvalid extends Data.TaggedError("WebhookUrlInvalid")<{ readonly reason: string }> {}
/** Only administrators receive events of accounts. */
export class AccountEventsNotAllowed extends Data.TaggedError("AccountEventsNotAllowed")<object> {}

/** The receiver did not respond. `reason` quotes nothing from it. */
export class WebhookReceiverUnreachable extends Data.TaggedError("WebhookReceiverUnreachable")<{
  readonly reason: string
}> {}
