import { WebApi } from "@berth/api/WebApi"
import { EmailVerifications } from "@berth/domain/accounts/EmailVerifications"
import { PasswordResets } from "@berth/domain/accounts/PasswordResets"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect, Option, Redacted } from "effect"
import { tellRetryAfter } from "../limits/RateLimitsHttp.ts"
import { RequestSession } from "../sessions/SessionAuthHttp.ts"

const asked = { message: "If there is an account with this e-mail address, a link for a new password is on its way." }
const changed = { message: "Your password is changed. Sign in with the new one." }
const sent = { message: "A link is on its way to your e-mail address, unless it is confirmed already." }

/** Of the token in the query nothing goes on to where the answer leads. */
const leadOn = (location: string) =>
  HttpServerResponse.redirect(location, {
    status: 302,
    headers: { "cache-control": "no-store", "referrer-policy": "no-referrer" }
  })

export const layer = HttpApiBuilder.group(WebApi, "recovery", (handlers) =>
  Effect.gen(function* () {
    const resets = yield* PasswordResets
    const verifications = yield* EmailVerifications
    const session = yield* RequestSession

    /** Where whoever opens a link goes on: his own pages when he is signed in. */
    const home = Effect.map(session.find, (found) => (Option.isSome(found) ? "/dashboard" : "/login"))

    return handlers
      .handle("forgotPassword", ({ payload: { email } }) => Effect.as(resets.ask(email), asked))
      .handle("resetPassword", ({ payload: { password, token } }) =>
        Effect.as(resets.redeem({ token, password }), changed)
      )
      .handle("verifyEmail", ({ urlParams: { token = Redacted.make("") } }) =>
        verifications.confirm(token).pipe(
          Effect.as("notice=email_verified"),
          Effect.catchTag("VerificationLinkIsInvalid", () => Effect.succeed("error=invalid_link")),
          Effect.flatMap((query) => Effect.map(home, (path) => leadOn(`${path}?${query}`)))
        )
      )
      .handle("sendVerification", () =>
        Effect.flatMap(CurrentUser, ({ user }) =>
          verifications.sendAgain(user).pipe(Effect.tapErrorTag("TooManyRequests", tellRetryAfter), Effect.as(sent))
        )
      )
  })
)
