import { ChannelTokenRefused, type PlatformFailure, PlatformUnreachable } from "@berth/domain/channels/ChannelErrors"
import { type PlatformAnswerMalformed, PlatformConnectionFailed } from "./PlatformHttp.ts"

/** Returns the failure of a request without a response, or with an undocumented one. */
export const toPlatformUnreachable = (
  platform: string,
  failure: PlatformConnectionFailed | PlatformAnswerMalformed
): PlatformUnreachable =>
  failure._tag === "PlatformConnectionFailed"
    ? new PlatformUnreachable({
        reason: `${platform} cannot be reached: ${failure.reason}.`,
        mayHaveArrived: failure.mayHaveArrived
      })
    : new PlatformUnreachable({
        reason: `${platform}'s answer is malformed: ${failure.operation}.`,
        mayHaveArrived: true
      })

/** Whether a download exceeded its size limit. */
export const isOversized = (failure: { readonly _tag: string }): boolean =>
  failure instanceof PlatformConnectionFailed && failure.isTooLarge

/**
 * Returns the verdict on a token after a failed check: a rejected request is attributed to the token, a rate limit is
 * not.
 */
export const toTokenVerdict = (failure: PlatformFailure): ChannelTokenRefused | PlatformUnreachable => {
  switch (failure._tag) {
    case "ChannelTokenRefused":
    case "PlatformUnreachable":
      return failure
    case "PlatformRequestRefused":
      return new ChannelTokenRefused({ reason: failure.reason })
    case "PlatformThrottled":
      return new PlatformUnreachable({ reason: "The platform limits the rate of this token.", mayHaveArrived: false })
  }
}
