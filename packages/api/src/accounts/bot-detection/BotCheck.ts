import { BotBlocked } from "@berth/domain/accounts/bot-detection/BotDetection"
import { HttpApiMiddleware } from "@effect/platform"
import { plainErrorBody } from "../../http/ErrorBody.ts"

export const BotBlockedBody = plainErrorBody(BotBlocked, {
  status: 403,
  error: "Automated request blocked",
  message: "This request looks automated. Use a browser, and pass its challenge when there is one."
})

/** Header or body member of the challenge token. */
export const botChallengeHeader = "cf-turnstile-response"
export const botChallengeField = "turnstileToken"

export class BotCheck extends HttpApiMiddleware.Tag<BotCheck>()("BotCheck", { failure: BotBlockedBody }) {}
