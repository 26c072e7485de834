import { BotIsBlocked } from "@berth/domain/accounts/BotDetection"
import { HttpApiMiddleware } from "@effect/platform"
import { errorBody } from "../http/ErrorBody.ts"

export const BotIsBlockedBody = errorBody(BotIsBlocked, {
  status: 403,
  code: "bot_blocked",
  error: "Automated request blocked",
  message: "This request looks automated. Use a browser, and pass its challenge when there is one.",
  read: () => new BotIsBlocked()
})

/** What a challenge in the page gave the browser goes in this header, or in this member of the body. */
export const challengeHeader = "cf-turnstile-response"
export const challengeMember = "turnstileToken"

/** Keeps programs out. */
export class BotCheck extends HttpApiMiddleware.Tag<BotCheck>()("BotCheck", { failure: BotIsBlockedBody }) {}
