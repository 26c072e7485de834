import { toRetryAfterSeconds } from "@berth/api/limits/RateLimits"
import { EmailChangeUndo } from "@berth/domain/recovery/email-change/EmailChangeUndo"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { type KnownRoute, makePlainRoute } from "../http/RouteTable.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"
import { readForm } from "./FormFields.ts"
import { html } from "./Html.ts"
import { makePageResponse, renderAlert } from "./Layout.ts"
import { PageAssets } from "./PageAssets.ts"

const path = "/undo-email-change"

export const undoEmailChangeRoutes: ReadonlyArray<KnownRoute> = [
  makePlainRoute("GET", path),
  // A page with `no-referrer` posts an opaque origin. The token in the form authorizes the request.
  { ...makePlainRoute("POST", path), opaqueOrigin: true }
]

/** The URL contains a token, which must not leak through the referrer. */
const headers = { "referrer-policy": "no-referrer" }
const title = "Undo the change of your email address"

const renderForm = (token: string) => html`
  <div class="narrow">
    <h1>${title}</h1>
    <p>
      This address becomes the address of your account again. Every session ends, and a password, wallets, linked
      providers and stored keys from after the change are removed.
    </p>
    <form class="stack" method="post" action="${path}">
      <input type="hidden" name="token" value="${token}" />
      <button class="primary">Undo the change</button>
    </form>
  </div>
`

const renderProblem = (problem: string) => html`
  <div class="narrow">
    <h1>${title}</h1>
    ${renderAlert(problem)}
    <p><a href="/login">Sign in</a></p>
  </div>
`

/** `/undo-email-change?token=`, the target of mailed links. A form, since mail programs fetch links. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const changes = yield* EmailChangeUndo
    const limiter = yield* RateLimiter
    const settings = yield* WebSettings
    const assets = yield* PageAssets

    const fail = (status: number, problem: string, more: Readonly<Record<string, string>> = {}) =>
      makePageResponse(
        assets,
        { title, main: renderProblem(problem), isSignedIn: false, hasToken: true },
        { status, headers: { ...headers, ...more } }
      )

    const show = Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
      const token = new URL(request.url, settings.appUrl.origin).searchParams.get("token") ?? ""
      return makePageResponse(
        assets,
        { title, main: renderForm(token), isSignedIn: false, hasToken: true },
        { headers }
      )
    })

    const submit = Effect.gen(function* () {
      yield* limiter.take("reset-password", yield* currentAddressKey)
      const field = yield* readForm(yield* HttpServerRequest.HttpServerRequest)
      yield* changes.undo(Redacted.make(field("token")))
      return HttpServerResponse.redirect("/login?notice=email_change_undone", {
        status: 303,
        headers: { ...headers, "cache-control": "no-store" }
      })
    }).pipe(
      Effect.catchTags({
        EmailChangeLinkInvalid: () => Effect.succeed(fail(400, "This link has expired or was used.")),
        EmailAlreadyTaken: () =>
          Effect.succeed(fail(409, "Another account uses this address now. Sign in to that account.")),
        RateLimitExceeded: ({ retryAfter }) => {
          const seconds = String(toRetryAfterSeconds(retryAfter))
          return Effect.succeed(
            fail(429, `Too many attempts. Open the link again in ${seconds} seconds.`, { "retry-after": seconds })
          )
        }
      })
    )

    yield* router.add("GET", path, show)
    yield* router.add("POST", path, submit)
  })
)
