import { ChannelTokenRefused, type PlatformFailure, PlatformUnreachable } from "@berth/domain/channels/ChannelErrors"

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
