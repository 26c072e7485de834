import {
  ApiKeyIsInvalid,
  BillingPlanIsUnknown,
  CreditPackIsUnknown,
  PlanChangeIsRefused
} from "@berth/api/billing/BillingErrorBodies"
import { fieldsAreMissing } from "@berth/api/interaction/InteractionErrorBodies"
import { WebApi } from "@berth/api/WebApi"
import type { User } from "@berth/domain/accounts/User"
import { BillingHistory } from "@berth/domain/billing/BillingHistory"
import { Charging } from "@berth/domain/billing/Charging"
import { entitlementsOf } from "@berth/domain/billing/Plan"
import { billingPlans } from "@berth/domain/billing/PlanCatalogue"
import { BillingPlanId, findCreditPack } from "@berth/domain/billing/Purchase"
import { Purchases } from "@berth/domain/billing/Purchases"
import { Allowances } from "@berth/domain/billing/Allowances"
import { OwnModelKeys } from "@berth/domain/secrets/OwnModelKeys"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder } from "@effect/platform"
import { Effect, Option, type Redacted, Schema } from "effect"
import { WebSettings } from "../http/WebSettings.ts"
import { waysBack } from "./WayBack.ts"

const isBillingPlan = Schema.is(BillingPlanId)

const plans = Object.fromEntries(
  billingPlans.map(({ dailyUnits, features, id, name, price }) => [id, { name, price, dailyUnits, features }])
)

export const layer = HttpApiBuilder.group(WebApi, "billing", (handlers) =>
  Effect.gen(function* () {
    const purchases = yield* Purchases
    const allowances = yield* Allowances
    const charging = yield* Charging
    const ownKeys = yield* OwnModelKeys
    const history = yield* BillingHistory
    const { appUrl } = yield* WebSettings
    const ways = waysBack(appUrl)
    const dashboard = new URL("/dashboard", appUrl)

    const usageOf = ({ id, plan }: User) => charging.usage(id, entitlementsOf(plan).dailyUnits)

    const createCheckout = Effect.fnUntraced(
      function* (user: User, plan: string | undefined) {
        if (plan === undefined) return yield* fieldsAreMissing(["plan"])
        if (!isBillingPlan(plan)) return yield* new BillingPlanIsUnknown()
        const url = yield* purchases.checkout(user, { kind: "plan", plan }, ways.plan, { changes: true })
        return { url: url.href }
      },
      Effect.catchTag("PurchaseIsRefused", ({ reason }) => new PlanChangeIsRefused({ reason }))
    )

    const buyCredits = Effect.fnUntraced(function* (user: User, name: string | number | undefined) {
      if (name === undefined) return yield* fieldsAreMissing(["pack"])
      const pack = yield* Effect.mapError(findCreditPack(String(name)), () => new CreditPackIsUnknown())
      yield* purchases.buyCredits(user, pack, ways.credits)
      return { success: true as const, credits: pack.credits, price: pack.price }
    })

    const enableOwnKey = Effect.fnUntraced(function* (
      user: User,
      provider: string | undefined,
      apiKey: Redacted.Redacted | undefined
    ) {
      if (provider === undefined || apiKey === undefined)
        return yield* fieldsAreMissing([
          ...(apiKey === undefined ? ["apiKey"] : []),
          ...(provider === undefined ? ["provider"] : [])
        ])
      const enabled = yield* Effect.catchTag(
        ownKeys.enable(user.id, provider, apiKey),
        "CredentialIsInvalid",
        ({ reason }) => new ApiKeyIsInvalid({ reason })
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
            subscriptionStatus: Option.getOrElse(yield* allowances.statusOf(user), () => "none" as const),
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
              return { url: (yield* purchases.portal(user, dashboard)).href }
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
          return { ...(yield* history.page(user.id, { limit, offset })), limit, offset }
        })
      )
  })
)
