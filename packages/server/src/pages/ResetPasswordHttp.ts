import { toRetryAfterSeconds } from "@berth/api/limits/RateLimits"
import { PasswordResets } from "@berth/domain/recovery/password-reset/PasswordResets"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { type KnownRoute, makePlainRoute } from "../http/RouteTable.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"
import { readForm } from "./FormFields.ts"
import { makePageResponse } from "./Layout.ts"
import { PageAssets } from "./PageAssets.ts"
import { type ResetPasswordForm, renderResetPasswordPage } from "./ResetPasswordPage.ts"

const path = "/reset-password"

export const resetPasswordRoutes: ReadonlyArray<KnownRoute> = [
  makePlainRoute("GET", path),
  // A page with `no-referrer` posts an opaque origin. The token in the form authorizes the request.
  { ...makePlainRoute("POST", path), opaqueOrigin: true }
]

/** The URL contains a token, which must not leak through the referrer. */
const headers = { "referrer-policy": "no-referrer" }

const invalidLink = "This link has expired or was used. Request a new one."

/** `/reset-password?token=`, the target of mailed links, and its form. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const resets = yield* PasswordResets
    const limiter = yield* RateLimiter
    const settings = yield* WebSettings
    const assets = yield* PageAssets

    const answer = (status: number, form: ResetPasswordForm, more: Readonly<Record<string, string>> = {}) =>
      makePageResponse(
        assets,
        { title: "Choose a new password", main: renderResetPasswordPage(form), isSignedIn: false, hasToken: true },
        { status, headers: { ...headers, ...more } }
      )

    const show = Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
      const token = new URL(request.url, settings.appUrl.origin).searchParams.get("token") ?? ""
      return answer(200, { token })
    })

    const submit = Effect.gen(function* () {
      yield* limiter.take("reset-password", yield* currentAddressKey)
      const field = yield* readForm(yield* HttpServerRequest.HttpServerRequest)
      const token = field("token")
      return yield* resets.redeem({ token: Redacted.make(token), password: Redacted.make(field("password")) }).pipe(
        Effect.as(
          HttpServerResponse.redirect("/login?notice=password_reset", {
            status: 303,
            headers: { ...headers, "cache-control": "no-store" }
          })
        ),
        Effect.catchTags({
          PasswordRejected: ({ reason }) => Effect.succeed(answer(400, { token, problem: `The password ${reason}.` })),
          ResetTokenInvalid: () => Effect.succeed(answer(400, { token: "", problem: invalidLink })),
          UserNotFound: () => Effect.succeed(answer(404, { token: "", problem: "The account no longer exists." }))
        })
      )
    }).pipe(
      Effect.catchTag("RateLimitExceeded", ({ retryAfter }) => {
        const seconds = String(toRetryAfterSeconds(retryAfter))
        const problem = `Too many attempts. Open the link again in ${seconds} seconds.`
        return Effect.succeed(answer(429, { token: "", problem }, { "retry-after": seconds }))
      })
    )

    yield* router.add("GET", path, show)
    yield* router.add("POST", path, submit)
  })
)
