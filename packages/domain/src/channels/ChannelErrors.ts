import { Data, type Duration } from "effect"

/** The agent has no connection to the platform, and the request brings no token. */
export class ChannelNotConnected extends Data.TaggedError("ChannelNotConnected")<object> {}

/** The platform rejects the token: it was never valid, or it is revoked. */
export class ChannelTokenRefused extends Data.TaggedError("ChannelTokenRefused")<{ readonly reason: string }> {}

/** No verdict: the platform cannot be reached, answers too late, or fails. */
export class PlatformUnreachable extends Data.TaggedError("PlatformUnreachable")<{
  readonly reason: string
  /** Whether the platform may have accepted the request all the same. */
  readonly mayHaveArrived: boolean
}> {}

/** The platform asks to wait. */
export class PlatformThrottled extends Data.TaggedError("PlatformThrottled")<{
  readonly retryAfter: Duration.Duration
}> {}

/** The platform will never accept the request, for example because the chat has blocked the bot. */
export class PlatformRequestRefused extends Data.TaggedError("PlatformRequestRefused")<{ readonly reason: string }> {}

/** Another reader takes the bot's messages. */
export class ChannelReaderConflict extends Data.TaggedError("ChannelReaderConflict")<{ readonly reason: string }> {}

/** The file is larger than the adapter downloads. */
export class ChannelFileTooLarge extends Data.TaggedError("ChannelFileTooLarge")<{ readonly limitBytes: number }> {}

/** The webhook request does not show the secret of a connected agent. One error for every fault, unknown agents included. */
export class WebhookNotAuthentic extends Data.TaggedError("WebhookNotAuthentic")<object> {}

/** The request is authentic and holds nothing of the platform's format. */
export class WebhookMalformed extends Data.TaggedError("WebhookMalformed")<object> {}

export type PlatformFailure = ChannelTokenRefused | PlatformUnreachable | PlatformThrottled | PlatformRequestRefused
