import {
  ApiKeyInvalid,
  BillingPlanNotFound,
  CreditPackNotFound,
  PlanChangeDeclined
} from "@berth/api/billing/BillingErrorBodies"
import { makeMissingFieldsError } from "@berth/api/interaction/InteractionErrorBodies"
import { WebApi } from "@berth/api/WebApi"
import type { User } from "@berth/domain/shared/User"
import { BillingHistory } from "@berth/domain/billing/history/BillingHistory"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { findEntitlements } from "@berth/domain/billing/subscriptions/Plan"
import { billingPlans } from "@berth/domain/billing/subscriptions/PlanCatalog"
import { BillingPlanId, findCreditPack } from "@berth/domain/billing/checkout/Purchase"
import { Purchases } from "@berth/domain/billing/checkout/Purchases"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { OwnModelKeys } from "@berth/domain/secrets/OwnModelKeys"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder } from "@effect/platform"
import { Effect, Option, type Redacted, Schema } from "effect"
import { WebSettings } from "../http/WebSettings.ts"
import { makeCheckoutReturnUrls } from "./CheckoutReturnUrls.ts"

const isBillingPlan = Schema.is(BillingPlanId)

const plans = Object.fromEntries(
  billingPlans.map(({ dailyUnits, features, id, name, price }) => [id, { name, price, dailyUnits, features }])
)

export const layer = HttpApiBuilder.group(WebApi, "billing", (handlers) =>
  Effect.gen(function* () {
    const purchases = yield* Purchases
    const allowances = yield* Allowances
    const charging = yield* UnitLedger
    const ownKeys = yield* OwnModelKeys
    const history = yield* BillingHistory
    const { appUrl } = yield* WebSettings
    const ways = makeCheckoutReturnUrls(appUrl)
    const dashboard = new URL("/dashboard", appUrl)

    const usageOf = ({ id, plan }: User) => charging.findUsage(id, findEntitlements(plan).dailyUnits)

    const createCheckout = Effect.fnUntraced(
      function* (user: User, plan: string | undefined) {
        if (plan === undefined) return yield* makeMissingFieldsError(["plan"])
        if (!isBillingPlan(plan)) return yield* new BillingPlanNotFound()
        const url = yield* purchases.checkout(user, { kind: "plan", plan }, ways.plan, { changes: true })
        return { url: url.href }
      },
      Effect.catchTag("PurchaseDeclined", ({ reason }) => new PlanChangeDeclined({ reason }))
    )

    const buyCredits = Effect.fnUntraced(function* (user: User, name: string | number | undefined) {
      if (name === undefined) return yield* makeMissingFieldsError(["pack"])
      const pack = yield* Effect.mapError(findCreditPack(String(name)), () => new CreditPackNotFound())
      yield* purchases.buyCredits(user, pack, ways.credits)
      return { success: true as const, credits: pack.credits, price: pack.price }
    })

    const enableOwnKey = Effect.fnUntraced(function* (
      user: User,
      provider: string | undefined,
      apiKey: Redacted.Redacted | undefined
    ) {
      if (provider === undefined || apiKey === undefined)
        return yield* makeMissingFieldsError([
          ...(apiKey === undefined ? ["apiKey"] : []),
          ...(provider === undefined ? ["provider"] : [])
        ])
      const enabled = yield* Effect.catchTag(
        ownKeys.enable(user.id, provider, apiKey),
        "CredentialInvalid",
        ({ reason }) => new ApiKeyInvalid({ reason })
      )
      return {
        success: true as const,
        message: `Your agents call ${enabled} with your own key now, which costs no units.`
      }
    })

    return handlers
      .handle("overview", () =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          return {
            plans,
            currentPlan: user.plan,
            subscriptionStatus: Option.getOrElse(yield* allowances.findStatus(user), () => "none" as const),
            byokEnabled: yield* ownKeys.isEnabled(user.id),
            usage: yield* usageOf(user)
          }
        })
      )
      .handle("act", ({ payload: { action, apiKey, pack, plan, provider } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          switch (action) {
            case "create-checkout":
              return yield* createCheckout(user, plan)
            case "buy-credits":
              return yield* buyCredits(user, pack)
            case "portal":
              return { url: (yield* purchases.createPortalUrl(user, dashboard)).href }
            case "get-usage":
              return yield* usageOf(user)
            case "enable-byok":
              return yield* enableOwnKey(user, provider, apiKey)
            case "disable-byok": {
              yield* ownKeys.disable(user.id)
              return { success: true as const, message: "Your own model keys are forgotten; calls cost units again." }
            }
          }
        })
      )
      .handle("history", ({ urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          return { ...(yield* history.list(user.id, { limit, offset })), limit, offset }
        })
      )
  })
)
