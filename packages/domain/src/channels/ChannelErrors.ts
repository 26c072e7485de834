import { Data, type Duration } from "effect"

/** The agent is not connected to the platform, and the request has no token. */
export class ChannelNotConnected extends Data.TaggedError("ChannelNotConnected")<object> {}

/** The platform rejects the token, which is invalid or revoked. */
export class ChannelTokenRefused extends Data.TaggedError("ChannelTokenRefused")<{ readonly reason: string }> {}

/** No result: the platform is unreachable, too slow, or fails. */
export class PlatformUnreachable extends Data.TaggedError("PlatformUnreachable")<{
  readonly reason: string
  /** Whether the platform may have accepted the request. */
  readonly mayHaveArrived: boolean
}> {}

/** The platform limits the rate of requests. */
export class PlatformThrottled extends Data.TaggedError("PlatformThrottled")<{
  readonly retryAfter: Duration.Duration
}> {}

/** The platform will never accept the request, for example because the chat has blocked the bot. */
export class PlatformRequestRefused extends Data.TaggedError("PlatformRequestRefused")<{ readonly reason: string }> {}

/** Another reader receives the bot's messages. */
export class ChannelReaderConflict extends Data.TaggedError("ChannelReaderConflict")<{ readonly reason: string }> {}

export class ChannelFileTooLarge extends Data.TaggedError("ChannelFileTooLarge")<{ readonly limitBytes: number }> {}

/**
 * The webhook request does not prove the secret of a connected agent. The same error for every cause, unknown agents
 * included.
 */
export class WebhookNotAuthentic extends Data.TaggedError("WebhookNotAuthentic")<object> {}

/** The request is authentic but not in the platform's format. */
export class WebhookMalformed extends Data.TaggedError("WebhookMalformed")<object> {}

export type PlatformFailure = ChannelTokenRefused | PlatformUnreachable | PlatformThrottled | PlatformRequestRefused
