import { WebApi } from "@berth/api/WebApi"
import { EmailVerifications } from "@berth/domain/accounts/EmailVerifications"
import { PasswordResets } from "@berth/domain/accounts/PasswordResets"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect, Option, Redacted } from "effect"
import { tellRetryAfter } from "../limits/RateLimitsHttp.ts"
import { RequestSession } from "../sessions/RequestSession.ts"

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

    /** Confirms an address for whoever opens a mailed link; answers where he goes on. */
    const confirmed = (token: Redacted.Redacted, link: string) =>
      Effect.gen(function* () {
        const user = Option.map(yield* session.find, (found) => found.user.id)
        // Their own pages, when they are signed in.
        const home = Option.isSome(user) ? "/dashboard" : "/login"
        return yield* verifications.confirm(token, user).pipe(
          Effect.as(`${home}?notice=email_verified`),
          Effect.catchTags({
            VerificationLinkIsInvalid: () => Effect.succeed(`${home}?error=invalid_link`),
            SignInIsNeededToConfirm: () =>
              Effect.succeed(
                Option.isSome(user)
                  ? `${home}?error=another_account`
                  : `${home}?${new URLSearchParams({ notice: "sign_in_to_confirm", callbackUrl: link }).toString()}`
              )
          })
        )
      })

    return handlers
      .handle("forgotPassword", ({ payload: { email } }) => Effect.as(resets.ask(email), asked))
      .handle("resetPassword", ({ payload: { password, token } }) =>
        Effect.as(resets.redeem({ token, password }), changed)
      )
      .handle("verifyEmail", ({ request: { method, url }, urlParams: { token = Redacted.make("") } }) =>
        // Who only asks for the head of an answer wants nothing done.
        method === "HEAD" ? Effect.succeed(leadOn("/login")) : Effect.map(confirmed(token, url), leadOn)
      )
      .handle("sendVerification", () =>
        Effect.flatMap(CurrentUser, ({ user }) =>
          verifications.sendAgain(user).pipe(Effect.tapErrorTag("TooManyRequests", tellRetryAfter), Effect.as(sent))
        )
      )
  })
)
