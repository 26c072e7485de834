import { developmentPlanPath } from "@berth/api/billing/subscriptions/DevelopmentPlansApi"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Schema } from "effect"
import type { AnsweredRequest, PresentAnswer } from "../http/HttpPipeline.ts"
import { isForm } from "../http/RequestBody.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { resolveCallbackPath } from "../signin/CallbackPath.ts"
import { renderErrorPage, findErrorTitle } from "./ErrorPage.ts"
import { type Assets, makePageResponse } from "./Layout.ts"
import { makeCallbackQuery } from "./SignInSections.ts"
import { PageAssets } from "./PageAssets.ts"
import { instancePageRoutes, instanceTicketRoutes } from "./InstancePagesHttp.ts"
import { consoleRoutes } from "./ConsoleHttp.ts"
import { pageRoutes } from "./PagesHttp.ts"
import { prefersHtml } from "./HtmlPreference.ts"

const ErrorMembers = Schema.parseJson(
  Schema.Struct({
    message: Schema.String,
    code: Schema.optional(Schema.String)
  })
)
const decodeError = Schema.decodeUnknownOption(ErrorMembers)

const errorIn = ({ body }: HttpServerResponse.HttpServerResponse) =>
  body._tag === "Uint8Array" ? decodeError(new TextDecoder().decode(body.body)) : Option.none()

const pagePaths = new Set(
  [...pageRoutes, ...consoleRoutes, ...instanceTicketRoutes, ...instancePageRoutes].map(({ path }) => path)
)

/** Forms that work without a script; failures redirect to the login page. */
const loginForms = new Set(["/api/auth/callback/credentials", "/api/auth/callback/wallet", developmentPlanPath])
const signOutForm = "/api/auth/signout"

const isPage = ({ headers }: HttpServerResponse.HttpServerResponse) =>
  (headers["content-type"] ?? "").startsWith("text/html")

/** Whether a browser displays the response: page routes, and unknown routes that prefer HTML. */
const isReadAsPage = ({ request, route }: AnsweredRequest) =>
  Option.match(route, {
    onNone: () => (request.method === "GET" || request.method === "HEAD") && prefersHtml(request.headers["accept"]),
    onSome: ({ path }) => pagePaths.has(path) && prefersHtml(request.headers["accept"])
  })

const asPage = (assets: Assets, appUrl: URL, { response, site }: AnsweredRequest, traceId: Option.Option<string>) => {
  const { code, message } = Option.getOrElse(errorIn(response), () => ({
    code: undefined,
    message: findErrorTitle(response.status)
  }))
  const main = renderErrorPage(response.status, {
    message: code === "route_not_found" ? "No page has this address." : message,
    traceId: Option.getOrUndefined(traceId)
  })
  const { allow, "retry-after": retryAfter } = response.headers
  return makePageResponse(
    assets,
    {
      title: findErrorTitle(response.status),
      main,
      isSignedIn: undefined,
      appUrl: Option.isSome(site) ? appUrl : undefined
    },
    {
      status: response.status,
      headers: {
        ...(allow === undefined ? {} : { allow }),
        ...(retryAfter === undefined ? {} : { "retry-after": retryAfter })
      }
    }
  )
}

/** Redirects a submitted form to the page with its outcome. */
const redirectAfterForm = (appUrl: URL, { request, response, route }: AnsweredRequest) => {
  const path = Option.match(route, { onNone: () => "", onSome: (known) => known.path })
  if (!isForm(request) || !prefersHtml(request.headers["accept"])) return Option.none()
  const lead = (to: string) => Option.some(HttpServerResponse.redirect(to, { status: 303, cookies: response.cookies }))
  if (path === signOutForm && response.status < 300) return lead("/login")
  if (!loginForms.has(path) || response.status < 400) return Option.none()
  const callbackUrl = new URLSearchParams(request.url.split("?", 2)[1] ?? "").get("callbackUrl") ?? undefined
  const error = Option.match(errorIn(response), { onNone: () => "failed", onSome: ({ code }) => code ?? "failed" })
  return lead(
    `/login?${new URLSearchParams({ error }).toString()}&${makeCallbackQuery(resolveCallbackPath(callbackUrl, appUrl))}`
  )
}

/** Error pages and form redirects for browsers; responses for programs are unchanged. */
export const makePagePresentation = Effect.gen(function* () {
  const { appUrl } = yield* WebSettings
  const assets = yield* PageAssets
  const present: PresentAnswer = (answered, traceId) =>
    Option.getOrElse(redirectAfterForm(appUrl, answered), () =>
      answered.response.status >= 400 && !isPage(answered.response) && isReadAsPage(answered)
        ? asPage(assets, appUrl, answered, traceId)
        : answered.response
    )
  return present
})
