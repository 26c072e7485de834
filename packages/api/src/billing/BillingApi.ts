import { SubscriptionStatus } from "@berth/domain/billing/subscriptions/Subscription"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { pageNumber, pageOf, pageQuery } from "../http/Pagination.ts"
import { optionalText, payload, refusesUnknownMembers, SecretText } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { BearerAuth } from "../sessions/BearerAuth.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import {
  ApiKeyInvalidBody,
  BillingPlanNotFoundBody,
  BudgetAgentNotFoundBody,
  PaymentCardRequiredBody,
  CardProcessorNotConfiguredBody,
  CardProcessorUnavailableBody,
  CreditPackNotFoundBody,
  ModelKeyUnverifiableBody,
  ModelKeyRejectedBody,
  PurchaseNotFoundBody,
  PlanCurrencyConflictBody,
  OwnKeyProviderUnknownBody,
  PlanChangeDeclinedBody
} from "./BillingErrorBodies.ts"
import { BudgetPeriod, maximumBudgets, maximumBudgetLimit } from "@berth/domain/billing/budgets/Budget"
import { AgentId } from "@berth/domain/shared/AgentId"
import { PlanId } from "@berth/domain/shared/PlanId"

const BilledPlan = Schema.Struct({
  name: Schema.String,
  price: Schema.Number.annotations({ description: "US dollars per month" }),
  dailyUnits: Schema.Int,
  features: Schema.Array(Schema.String)
})

/** Units of the current UTC day; `used` plus `remaining` equals `dailyUnits`. */
const UnitUsage = Schema.Struct({ dailyUnits: Schema.Int, used: Schema.Int, remaining: Schema.Int }).annotations({
  identifier: "UnitUsage"
})

const overview = HttpApiEndpoint.get("overview", "/api/billing")
  .addSuccess(
    Schema.Struct({
      plans: Schema.Record({ key: Schema.String, value: BilledPlan }),
      currentPlan: PlanId,
      subscriptionStatus: Schema.Union(SubscriptionStatus, Schema.Literal("none")),
      byokEnabled: Schema.Boolean.annotations({ description: "Whether model calls use a key of your own" }),
      usage: UnitUsage
    }).annotations({ identifier: "BillingOverview" })
  )
  .annotate(OpenApi.Summary, "Retrieve plan, units and credits")

const Succeeded = Schema.Struct({ success: Schema.Literal(true), message: Schema.String })
const Address = Schema.Struct({ url: Schema.String.annotations({ description: "Address to open for the buyer" }) })

/** `action` selects the operation. */
const act = HttpApiEndpoint.post("act", "/api/billing")
  .setPayload(
    payload({
      action: Schema.Literal("create-checkout", "enable-byok", "disable-byok", "get-usage", "buy-credits", "portal"),
      plan: optionalText.annotations({ description: "create-checkout: starter, pro, scale" }),
      pack: Schema.optionalWith(Schema.Union(Schema.String, Schema.Number), { nullable: true }).annotations({
        description: "buy-credits: 50, 200, 500"
      }),
      provider: optionalText.annotations({ description: "enable-byok: anthropic, openai, openrouter, google, groq" }),
      apiKey: Schema.optionalWith(SecretText, { nullable: true })
    })
  )
  .addSuccess(
    Schema.Union(
      Address,
      UnitUsage,
      Schema.Struct({
        success: Schema.Literal(true),
        credits: Schema.Number,
        price: Schema.Number.annotations({ description: "Paid US dollars" })
      }),
      Succeeded
    )
  )
  .addError(BillingPlanNotFoundBody)
  .addError(CreditPackNotFoundBody)
  .addError(PlanCurrencyConflictBody)
  .addError(PurchaseNotFoundBody)
  .addError(PaymentCardRequiredBody)
  .addError(PlanChangeDeclinedBody)
  .addError(OwnKeyProviderUnknownBody)
  .addError(ApiKeyInvalidBody)
  .addError(ModelKeyRejectedBody)
  .addError(ModelKeyUnverifiableBody)
  .addError(CardProcessorNotConfiguredBody)
  .addError(CardProcessorUnavailableBody)
  .addError(IdempotencyErrors)
  .annotate(OpenApi.Summary, "Purchase plans and credits, and manage own model keys")
  .annotate(
    OpenApi.Description,
    "create-checkout returns the address of a checkout. If another plan of the same currency is running, it is changed at once, and the address is that of the onboarding. buy-credits charges the saved card and returns after the credits are booked; requests are one purchase only with the same Idempotency-Key. portal returns the address of the page for cards, invoices and subscriptions."
  )

const HistoryItem = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("usage", "purchase", "grant", "refund", "subscription"),
  description: Schema.String,
  units: Schema.Number,
  credits: Schema.Number,
  amount: Schema.NullOr(Schema.Number),
  currency: Schema.NullOr(Schema.Literal("GBP", "USD")),
  createdAt: Timestamp
}).annotations({ identifier: "BillingHistoryItem" })

/** Newest first. */
const history = HttpApiEndpoint.get("history", "/api/billing/history")
  .setUrlParams(pageQuery)
  .addSuccess(
    pageOf({
      entries: Schema.Array(HistoryItem)
    })
  )
  .annotate(OpenApi.Summary, "List charges, purchases and credits, newest first")

const usage = HttpApiEndpoint.get("usage", "/api/billing/usage")
  .setUrlParams(Schema.Struct({ days: pageNumber({ least: 1, most: 90, usual: 14 }) }))
  .addSuccess(
    Schema.Struct({
      totalDays: Schema.Int,
      days: Schema.Array(Schema.Struct({ day: Schema.String, units: Schema.Number })).annotations({
        description: "UTC days with usage, oldest first"
      }),
      agents: Schema.Array(
        Schema.Struct({ agentId: Schema.NullOr(AgentId), name: Schema.NullOr(Schema.String), units: Schema.Number })
      ).annotations({ description: "Most units first; null for calls without an agent and for deleted agents" }),
      models: Schema.Array(Schema.Struct({ model: Schema.NullOr(Schema.String), units: Schema.Number })).annotations({
        description: "Most units first; null if no reply is stored"
      })
    }).annotations({ identifier: "BillingUsage" })
  )
  .annotate(OpenApi.Summary, "Retrieve the charged units by day, agent and model")
  .annotate(
    OpenApi.Description,
    "Sums of the last `days` UTC days, including today (default: 14, maximum: 90). Excludes units of calls in progress."
  )

const BudgetFields = {
  agentId: Schema.NullOr(AgentId).annotations({ description: "Null for the whole account" }),
  period: BudgetPeriod.annotations({ description: "A UTC day or calendar month" })
}

const Budget = Schema.Struct({
  ...BudgetFields,
  units: Schema.Int,
  usedUnits: Schema.Int.annotations({
    description: "Units charged in the current period, or reserved by calls in progress"
  }),
  remainingUnits: Schema.Int.annotations({ description: "0 if the budget was lowered below `usedUnits`" }),
  renewsAt: Timestamp.annotations({ description: "Start of the next period" }),
  action: Schema.Literal("stop").annotations({
    description: "Calls that the budget does not cover return 402"
  })
}).annotations({ identifier: "Budget" })

const BudgetInput = Schema.Struct({
  agentId: Schema.optionalWith(BudgetFields.agentId, { default: () => null }),
  period: BudgetFields.period,
  units: Schema.Int.pipe(Schema.between(0, maximumBudgetLimit)).annotations({
    message: () => `must be a whole number from 0 to ${maximumBudgetLimit}`
  })
}).annotations({ identifier: "BudgetInput", ...refusesUnknownMembers })

const nameBudget = ({ agentId, period }: typeof BudgetInput.Type) => `${agentId ?? ""} ${period}`

const BudgetInputs = Schema.Array(BudgetInput).pipe(
  Schema.maxItems(maximumBudgets, { message: () => `must have at most ${maximumBudgets} entries` }),
  Schema.filter((budgets) => {
    const names = budgets.map(nameBudget)
    return budgets.flatMap(({ period }, index) =>
      names.indexOf(names[index] ?? "") === index
        ? []
        : [{ path: [index], message: `is a second budget of the same ${period} for the same agent` }]
    )
  })
)

const BudgetList = Schema.Struct({ budgets: Schema.Array(Budget) })

const budgets = HttpApiEndpoint.get("budgets", "/api/billing/budgets")
  .addSuccess(BudgetList)
  .annotate(OpenApi.Summary, "List the budgets of the account and its agents")
  .annotate(OpenApi.Description, "Budgets of the account first.")

const replaceBudgets = HttpApiEndpoint.put("replaceBudgets", "/api/billing/budgets")
  .setPayload(payload({ budgets: BudgetInputs }))
  .addSuccess(BudgetList)
  .addError(BudgetAgentNotFoundBody)
  .annotate(OpenApi.Summary, "Replace the budgets of the account and its agents")
  .annotate(
    OpenApi.Description,
    `At most ${maximumBudgets}; an empty list removes all. A budget limits the units of the account or of one agent per UTC day or calendar month. A call reserves its upper bound in all budgets that apply to it, together with the units that pay for it; if a budget does not cover it, it returns 402 budget_exceeded, and a turn in progress ends with the text so far. Calls with own model keys do not count. Applies to calls that begin after the response.`
  )

export class BillingApi extends HttpApiGroup.make("billing")
  .add(overview)
  .add(act)
  .add(history)
  .add(usage)
  .add(budgets)
  .add(replaceBudgets)
  .annotateEndpointsContext(acceptApiKeys("billing"))
  .middleware(BearerAuth)
  .addError(InternalFailureBody) {}
