import { WebApi } from "@berth/api/WebApi"
import { EmailVerifications } from "@berth/domain/accounts/email-verification/EmailVerifications"
import { AccountDeletion } from "@berth/domain/recovery/deletion/AccountDeletion"
import { ClaimNotices } from "@berth/domain/recovery/claims/ClaimNotices"
import { PasswordResets } from "@berth/domain/recovery/password-reset/PasswordResets"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Redacted } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter, redirectPrivately } from "../http/ResponseHeaders.ts"
import { SessionCookie } from "../http/SecretCookies.ts"
import { RequestCredentials } from "../http/RequestCredentials.ts"

const resetRequested = {
  message: "If there is an account with this email address, we sent it a link for a new password."
}
const passwordChanged = { message: "Your password is changed. Sign in with the new one." }
const verificationSent = { message: "We sent a link to your email address, unless it is confirmed already." }

/** Keeps the token in the query of a mailed link out of the next page's `Referer`. */
const redirectFromLink = (location: string) => redirectPrivately(location, { "referrer-policy": "no-referrer" })

export const layer = group(WebApi, "recovery", (handlers) =>
  Effect.gen(function* () {
    const resets = yield* PasswordResets
    const verifications = yield* EmailVerifications
    const deletion = yield* AccountDeletion
    const claims = yield* ClaimNotices
    const credentials = yield* RequestCredentials
    const cookie = yield* SessionCookie

    /** Verifies the address of a mailed link; returns the redirect target. */
    const confirm = Effect.fnUntraced(function* (token: Redacted.Redacted, link: string) {
      const user = Option.map(yield* credentials.findVisitor, ({ id }) => id)
      const home = Option.isSome(user) ? "/dashboard" : "/login"
      return yield* verifications.confirm(token, user).pipe(
        Effect.as(`${home}?notice=email_verified`),
        Effect.catchTags({
          VerificationLinkInvalid: () => Effect.succeed(`${home}?error=invalid_link`),
          ConfirmationSignInRequired: () =>
            Effect.succeed(
              Option.isSome(user)
                ? `${home}?error=another_account`
                : `${home}?${new URLSearchParams({ notice: "sign_in_to_confirm", callbackUrl: link }).toString()}`
            )
        })
      )
    })

    return handlers
      .handle("forgotPassword", ({ payload: { email } }) => Effect.as(resets.requestLink(email), resetRequested))
      .handle("resetPassword", ({ payload: { password, token } }) =>
        Effect.as(resets.redeem({ token, password }), passwordChanged)
      )
      .handle("verifyEmail", ({ request: { method, url }, urlParams: { token = Redacted.make("") } }) =>
        // A HEAD request has no effect.
        method === "HEAD"
          ? Effect.succeed(redirectFromLink("/login"))
          : Effect.map(confirm(token, url), redirectFromLink)
      )
      .handle("sendVerification", () =>
        Effect.flatMap(CurrentUser, ({ user }) =>
          verifications
            .resend(user)
            .pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter), Effect.as(verificationSent))
        )
      )
      .handle("deleteAccount", ({ payload: { confirm, password } }) =>
        Effect.flatMap(CurrentUser, (current) =>
          deletion.delete(current, { password: Option.fromNullable(password), isConfirmed: confirm ?? false })
        ).pipe(
          Effect.tapErrorTag("RateLimitExceeded", addRetryAfter),
          Effect.as(cookie.clear(HttpServerResponse.unsafeJson({ success: true })))
        )
      )
      .handle("claimNotice", () =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          return { claimedAt: Option.getOrNull(yield* claims.find(user.id)) }
        })
      )
      .handle("settleClaim", ({ payload: { decision } }) =>
        Effect.flatMap(CurrentUser, ({ user }) => Effect.as(claims.settle(user.id, decision), { success: true }))
      )
  })
)
