import { Cause, Effect, Option, Schema } from "effect"
import { AccountPolicy } from "../../accounts/AccountPolicy.ts"
import type { User } from "../../shared/User.ts"
import { BillingSettings, findCreditPrices } from "../BillingSettings.ts"
import { Checkouts } from "./Checkouts.ts"
import { CheckoutPlanId, type Purchase } from "./Purchase.ts"

/** The query value of `?error=<code>` of the page that a failed checkout redirects to. */
export const CheckoutErrorCode = Schema.Literal(
  "unknown_plan",
  "unknown_price",
  "not_configured",
  "unavailable",
  "other_currency",
  "canceled"
)
export type CheckoutErrorCode = typeof CheckoutErrorCode.Type

type CheckoutFailure = Effect.Effect.Error<ReturnType<Checkouts["start"]>>

const codes: Record<CheckoutFailure["_tag"], CheckoutErrorCode> = {
  CardProcessorNotConfigured: "not_configured",
  CardProcessorUnavailable: "unavailable",
  PurchaseDeclined: "unavailable",
  PlanCurrencyConflict: "other_currency"
}

const isCheckoutPlan = Schema.is(CheckoutPlanId)

/** The checkout links of the pricing page. A link only opens a page and never changes a plan. */
export class CheckoutLinks extends Effect.Service<CheckoutLinks>()("@berth/CheckoutLinks", {
  effect: Effect.gen(function* () {
    const checkouts = yield* Checkouts
    const { prices } = yield* BillingSettings
    const { appUrl } = yield* AccountPolicy
    const creditPrices = findCreditPrices(prices)

    const toPage = (page: string, code: CheckoutErrorCode) => new URL(`${page}?error=${code}`, appUrl)
    const toPricing = (code: CheckoutErrorCode) => toPage("/pricing", code)

    const start = (user: User, purchase: Purchase) =>
      checkouts
        .start(user, purchase, { mayChange: false })
        .pipe(
          Effect.tapError((failure) =>
            Effect.logWarning("Checkout creation failed", Cause.fail(failure)).pipe(
              Effect.annotateLogs({ code: codes[failure._tag] })
            )
          )
        )
    const lead = (user: User, purchase: Purchase, page = "/pricing") =>
      Effect.catchAll(start(user, purchase), ({ _tag }) => Effect.succeed(toPage(page, codes[_tag])))

    const openPlan = Effect.fn("CheckoutLinks.openPlan")(function* (user: User, plan: string | null) {
      return isCheckoutPlan(plan) ? yield* lead(user, { kind: "plan", plan }) : toPricing("unknown_plan")
    })

    const openCredits = Effect.fn("CheckoutLinks.openCredits")((user: User, price: string) =>
      Option.match(Option.fromNullable(creditPrices.get(price)), {
        onNone: () => Effect.succeed(toPricing("unknown_price")),
        onSome: (credits) => lead(user, { kind: "credits", credits, price })
      })
    )

    const openStorage = Effect.fn("CheckoutLinks.openStorage")((user: User) => start(user, { kind: "storage" }))

    /** As for plans; a failure redirects to the storage page. */
    const leadToStorage = Effect.fn("CheckoutLinks.leadToStorage")((user: User) =>
      lead(user, { kind: "storage" }, "/dashboard/files")
    )

    return { openPlan, openCredits, openStorage, leadToStorage }
  })
}) {}
