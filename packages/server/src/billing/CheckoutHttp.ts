import { type CheckoutErrorCode, StorageCheckoutFailed } from "@berth/api/billing/checkout/CheckoutApi"
import { WebApi } from "@berth/api/WebApi"
import { Administrators } from "@berth/domain/accounts/Administrators"
import type { User } from "@berth/domain/shared/User"
import { CreditPrices } from "@berth/domain/billing/credits/CreditPrices"
import { CheckoutPlanId, type Purchase } from "@berth/domain/billing/checkout/Purchase"
import { Purchases } from "@berth/domain/billing/checkout/Purchases"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder, type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Effect, Option, Schema } from "effect"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeCallbackQuery } from "../pages/LoginPage.ts"
import { RequestSession } from "../sessions/RequestSession.ts"
import { readQuery, resolveCallbackPath } from "../signin/CallbackPath.ts"
import { makeCheckoutReturnUrls } from "./CheckoutReturnUrls.ts"

type Failure = Effect.Effect.Error<ReturnType<Purchases["checkout"]>>

const codes: Record<Failure["_tag"], CheckoutErrorCode> = {
  CardProcessorNotConfigured: "not_configured",
  CardProcessorUnavailable: "unavailable",
  // Nobody's card is charged at the making of a checkout; what is refused there is the checkout.
  PurchaseDeclined: "unavailable",
  PlanCurrencyConflict: "other_currency"
}

const redirectToPricing = (error: CheckoutErrorCode) => redirectPrivately(`/pricing?error=${error}`)

const logFailure = (failure: Failure) =>
  Effect.logWarning("No checkout was made", failure).pipe(Effect.annotateLogs({ error: codes[failure._tag] }))

const isCheckoutPlan = Schema.is(CheckoutPlanId)

export const layer = HttpApiBuilder.group(WebApi, "checkout", (handlers) =>
  Effect.gen(function* () {
    const purchases = yield* Purchases
    const session = yield* RequestSession
    const admins = yield* Administrators
    const creditPrices = yield* CreditPrices
    const { appUrl } = yield* WebSettings
    const ways = makeCheckoutReturnUrls(appUrl)

    /** For who is signed in; who is not signs in first and comes back. */
    const own = <E, R>(
      request: HttpServerRequest.HttpServerRequest,
      answer: (user: User) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ) =>
      Effect.flatMap(
        session.find,
        Option.match({
          onNone: () =>
            Effect.succeed(redirectPrivately(`/login?${makeCallbackQuery(resolveCallbackPath(request.url, appUrl))}`)),
          onSome: ({ user }) => answer(user)
        })
      )

    /** A link buys nothing by itself, whoever made it: it leads to where one pays, or manages what one has. */
    const checkout = (user: User, purchase: Purchase, kind: keyof typeof ways) =>
      purchases.checkout(user, purchase, ways[kind], { changes: false })

    const leadToCheckout = (user: User, purchase: Purchase, kind: keyof typeof ways) =>
      checkout(user, purchase, kind).pipe(
        Effect.tapError(logFailure),
        Effect.match({
          onFailure: (failure) => redirectToPricing(codes[failure._tag]),
          onSuccess: (url) => redirectPrivately(url.href)
        })
      )

    return handlers
      .handle("plan", ({ request }) =>
        own(request, (user) => {
          const plan = readQuery(request).get("plan")
          if (!isCheckoutPlan(plan)) return Effect.succeed(redirectToPricing("unknown_plan"))
          // Administrators pay for nothing.
          return admins.includes(user)
            ? Effect.succeed(redirectPrivately("/onboarding"))
            : leadToCheckout(user, { kind: "plan", plan }, "plan")
        })
      )
      .handle("credits", ({ request }) =>
        own(request, (user) => {
          const price = readQuery(request).get("price") ?? ""
          const credits = creditPrices.get(price)
          return credits === undefined
            ? Effect.succeed(redirectToPricing("unknown_price"))
            : leadToCheckout(user, { kind: "credits", credits, price }, "credits")
        })
      )
      .handle("storage", () =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          return { url: (yield* checkout(user, { kind: "storage" }, "storage")).href }
        }).pipe(
          Effect.tapError(logFailure),
          Effect.mapError(
            (failure) =>
              new StorageCheckoutFailed({
                reason:
                  failure._tag === "CardProcessorNotConfigured"
                    ? "Payment is not set up here."
                    : "The card processor made no checkout. Try again in a moment; nothing was charged."
              })
          )
        )
      )
  })
)
