import { makeMissingFieldsError } from "@berth/api/http/RequestErrors"
import { WebApi } from "@berth/api/WebApi"
import { BillingActions } from "@berth/domain/billing/BillingActions"
import { type Budget, Budgets, computeRemainingUnits, findRenewal } from "@berth/domain/billing/budgets/Budget"
import { BillingHistory } from "@berth/domain/billing/history/BillingHistory"
import { billingPlans } from "@berth/domain/billing/subscriptions/PlanCatalog"
import { Principal } from "@berth/domain/sessions/Principal"
import { Units } from "@berth/domain/shared/Money"
import type { UserId } from "@berth/domain/shared/UserId"
import { DateTime, Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

const plans = Object.fromEntries(
  billingPlans.map(({ dailyUnits, features, id, name, price }) => [id, { name, price, dailyUnits, features }])
)

const toBudgetView = (budget: Budget, now: DateTime.Utc) => ({
  ...budget,
  remainingUnits: computeRemainingUnits(budget),
  renewsAt: findRenewal(budget.period, now),
  action: "stop" as const
})

export const layer = group(WebApi, "billing", (handlers) =>
  Effect.gen(function* () {
    const actions = yield* BillingActions
    const history = yield* BillingHistory
    const budgets = yield* Budgets

    const listBudgets = Effect.fnUntraced(function* (userId: UserId) {
      const now = yield* DateTime.now
      return { budgets: (yield* budgets.list(userId)).map((budget) => toBudgetView(budget, now)) }
    })

    return handlers
      .handle("overview", () =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          return { plans, ...(yield* actions.findOverview(user)) }
        })
      )
      .handle("act", ({ payload: { action, apiKey, pack, plan, provider } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          switch (action) {
            case "create-checkout": {
              if (plan === undefined) return yield* makeMissingFieldsError(["plan"])
              return { url: (yield* actions.createCheckout(user, plan)).href }
            }
            case "buy-credits": {
              if (pack === undefined) return yield* makeMissingFieldsError(["pack"])
              const { credits, price } = yield* actions.buyCredits(user, String(pack))
              return { success: true as const, credits, price }
            }
            case "portal":
              return { url: (yield* actions.createPortalUrl(user)).href }
            case "get-usage":
              return yield* actions.findUsage(user)
            case "enable-byok": {
              if (provider === undefined || apiKey === undefined)
                return yield* makeMissingFieldsError([
                  ...(apiKey === undefined ? ["apiKey"] : []),
                  ...(provider === undefined ? ["provider"] : [])
                ])
              const enabled = yield* actions.enableOwnKey(user, provider, apiKey)
              return {
                success: true as const,
                message: `Calls to ${enabled} use your own key now and cost no units.`
              }
            }
            case "disable-byok": {
              yield* actions.disableOwnKeys(user)
              return { success: true as const, message: "Your own model keys are deleted; calls cost units again." }
            }
          }
        })
      )
      .handle("usage", ({ urlParams: { days } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          return { totalDays: days, ...(yield* history.sumUsage(user.id, days)) }
        })
      )
      .handle("budgets", () => Effect.flatMap(Principal, ({ user }) => listBudgets(user.id)))
      .handle("replaceBudgets", ({ payload }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          yield* budgets.replace(
            user.id,
            payload.budgets.map((limit) => ({ ...limit, units: Units(limit.units) }))
          )
          return yield* listBudgets(user.id)
        })
      )
      .handle("history", ({ urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          return { ...(yield* history.list(user.id, { limit, offset })), limit, offset }
        })
      )
  })
)
