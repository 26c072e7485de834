import { ChannelTokenRefused, type PlatformFailure, PlatformUnreachable } from "@berth/domain/channels/ChannelErrors"
import { type PlatformAnswerMalformed, PlatformConnectionFailed } from "./PlatformHttp.ts"

/** The failure of a request that the platform did not answer, or in no documented form. */
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

/** Whether a download ended at the limit of its size. */
export const isOversized = (failure: { readonly _tag: string }): boolean =>
  failure instanceof PlatformConnectionFailed && failure.isTooLarge

/** The verdict on a token after a failed check: a refused request is the token's fault, a limit is none. */
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
