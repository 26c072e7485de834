import { makeMissingFieldsError } from "@berth/api/http/RequestErrors"
import { WebApi } from "@berth/api/WebApi"
import { BillingActions } from "@berth/domain/billing/BillingActions"
import { BillingHistory } from "@berth/domain/billing/history/BillingHistory"
import { billingPlans } from "@berth/domain/billing/subscriptions/PlanCatalog"
import { Principal } from "@berth/domain/sessions/Principal"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"

const plans = Object.fromEntries(
  billingPlans.map(({ dailyUnits, features, id, name, price }) => [id, { name, price, dailyUnits, features }])
)

export const layer = HttpApiBuilder.group(WebApi, "billing", (handlers) =>
  Effect.gen(function* () {
    const actions = yield* BillingActions
    const history = yield* BillingHistory

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
      .handle("history", ({ urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          return { ...(yield* history.list(user.id, { limit, offset })), limit, offset }
        })
      )
  })
)
