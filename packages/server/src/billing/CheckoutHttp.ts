import { StorageCheckoutFailed } from "@berth/api/billing/checkout/CheckoutApi"
import { WebApi } from "@berth/api/WebApi"
import { CheckoutLinks } from "@berth/domain/billing/checkout/CheckoutLinks"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import type { User } from "@berth/domain/shared/User"
import { type HttpServerRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import { group } from "../http/ApiGroup.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeCallbackQuery } from "../pages/SignInSections.ts"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { readQuery, resolveCallbackPath } from "../signin/CallbackPath.ts"

export const layer = group(WebApi, "checkout", (handlers) =>
  Effect.gen(function* () {
    const links = yield* CheckoutLinks
    const credentials = yield* RequestCredentials
    const { appUrl } = yield* WebSettings

    /** Without a session, redirects to the login page, which returns to the link. */
    const redirectUser = <E, R>(
      request: HttpServerRequest.HttpServerRequest,
      open: (user: User) => Effect.Effect<URL, E, R>
    ) =>
      Effect.flatMap(
        credentials.findVisitor,
        Option.match({
          onNone: () =>
            Effect.succeed(redirectPrivately(`/login?${makeCallbackQuery(resolveCallbackPath(request.url, appUrl))}`)),
          onSome: (user) =>
            Effect.map(open(user), (url) =>
              redirectPrivately(url.origin === appUrl.origin ? `${url.pathname}${url.search}` : url.href)
            )
        })
      )

    return handlers
      .handle("plan", ({ request }) =>
        redirectUser(request, (user) => links.openPlan(user, readQuery(request).get("plan")))
      )
      .handle("credits", ({ request }) =>
        redirectUser(request, (user) => links.openCredits(user, readQuery(request).get("price") ?? ""))
      )
      .handle("storage", () =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          return { url: (yield* links.openStorage(user)).href }
        }).pipe(
          Effect.mapError(
            ({ _tag }) => new StorageCheckoutFailed({ isConfigured: _tag !== "CardProcessorNotConfigured" })
          )
        )
      )
  })
)
