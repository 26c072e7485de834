import { CardProcessorNotConfigured, CardProcessorUnavailable } from "@berth/domain/billing/checkout/CardProcessor"
import { PlanCurrencyConflict } from "@berth/domain/billing/checkout/PurchaseDecision"
import {
  ApiKeyInvalid,
  BillingPlanNotFound,
  CreditPackNotFound,
  PaymentCardRequired,
  PlanChangeDeclined
} from "@berth/domain/billing/BillingActions"
import { PurchaseNotFound } from "@berth/domain/billing/checkout/Checkouts"
import {
  BudgetAgentNotFound,
  BudgetExceeded,
  BudgetPeriod,
  computeRemainingUnits
} from "@berth/domain/billing/budgets/Budget"
import { UnitsExhausted } from "@berth/domain/billing/units/Reservation"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Units } from "@berth/domain/shared/Money"
import { modelCredentialKeys } from "@berth/domain/secrets/Credential"
import { ModelKeyUnverifiable, ModelKeyRejected } from "@berth/domain/secrets/ModelKeyVerifier"
import { OwnKeyProviderUnknown } from "@berth/domain/secrets/OwnModelKeys"
import { HttpApiSchema } from "@effect/platform"
import { DateTime, Option, Schema } from "effect"
import {
  errorBody,
  plainErrorBody,
  errorClassSchema,
  errorFields,
  exampleTraceId,
  extendedErrorBody,
  reasonErrorBody
} from "../http/ErrorBody.ts"
import { Timestamp } from "../http/Timestamp.ts"

/** The card was declined or is missing: 402 with a checkout that accepts another card. */
export const PaymentCardRequiredBody = Schema.transform(
  Schema.Struct({
    ...errorFields("payment_required"),
    checkoutUrl: Schema.String.annotations({ description: "A page to pay for the purchase, valid for a day" }),
    declineCode: Schema.NullOr(Schema.String).annotations({
      description: "Reason for which the saved card was declined, if reported by the bank"
    })
  }).annotations({
    identifier: "PaymentCardRequired",
    examples: [
      {
        error: "payment_required",
        message: "Your card was declined. Nothing was charged. Pay at checkoutUrl with another card.",
        code: "payment_required",
        checkoutUrl: "https://checkout.example/c/1",
        declineCode: "insufficient_funds",
        traceId: exampleTraceId
      }
    ]
  }),
  errorClassSchema(PaymentCardRequired),
  {
    strict: true,
    decode: ({ checkoutUrl }) => new PaymentCardRequired({ refusal: Option.none(), checkoutUrl: new URL(checkoutUrl) }),
    encode: ({ checkoutUrl, refusal }) => ({
      error: "payment_required",
      message: Option.match(refusal, {
        onNone: () =>
          "There is no saved card that can be charged. Pay at checkoutUrl; the card is saved for next time.",
        onSome: ({ reason }) => `${reason} Nothing was charged. Pay at checkoutUrl with another card.`
      }),
      code: "payment_required" as const,
      checkoutUrl: checkoutUrl.href,
      declineCode: Option.match(refusal, { onNone: () => null, onSome: ({ declineCode }) => declineCode })
    })
  }
).annotations(HttpApiSchema.annotations({ status: 402, description: "Payment required" }))

export const unconfirmedMessage =
  "Confirm your email address to use the daily units of the free plan: open the link in the mail, or have it sent again by POST /api/auth/verify-email. Purchased credits need no confirmation."

const exhaustedMessage =
  "Today's remaining units and the credits do not cover this request. Wait for new units at midnight UTC, or buy credits by POST /api/billing with the action buy-credits."

export const UnitsExhaustedBody = extendedErrorBody(
  UnitsExhausted,
  Schema.Struct({ units: Schema.Number, remaining: Schema.Number }),
  {
    status: 402,
    error: "payment_required",
    message: ({ awaitsConfirmation }) => (awaitsConfirmation ? unconfirmedMessage : exhaustedMessage),
    members: ({ remaining, units }) => ({ units, remaining }),
    example: new UnitsExhausted({ units: Units(0), remaining: Units(0), awaitsConfirmation: false }),
    read: (message, { remaining, units }) =>
      new UnitsExhausted({
        units: Units(units),
        remaining: Units(remaining),
        awaitsConfirmation: message === unconfirmedMessage
      })
  }
)

const periodNames = { day: "daily", month: "monthly" } as const

const ExceededBudget = Schema.Struct({
  agentId: Schema.NullOr(AgentId),
  period: BudgetPeriod,
  units: Schema.Number,
  usedUnits: Schema.Number,
  remainingUnits: Schema.Number,
  renewsAt: Timestamp
}).annotations({ identifier: "ExceededBudget" })

export const BudgetExceededBody = extendedErrorBody(
  BudgetExceeded,
  Schema.Struct({ requiredUnits: Schema.Number, budget: ExceededBudget }),
  {
    status: 402,
    error: "payment_required",
    message: ({ budget, renewsAt, requiredUnits }) =>
      `The ${periodNames[budget.period]} budget of ${budget.agentId === null ? "the account" : `the agent ${budget.agentId}`}, ${budget.units} ${budget.units === 1 ? "unit" : "units"}, has ${computeRemainingUnits(budget)} left; this call needs ${requiredUnits}. It renews on ${DateTime.formatIsoDateUtc(renewsAt)} (UTC); raise it by PUT /api/billing/budgets.`,
    members: ({ budget, renewsAt, requiredUnits }) => ({
      requiredUnits,
      budget: { ...budget, remainingUnits: computeRemainingUnits(budget), renewsAt }
    }),
    example: new BudgetExceeded({
      budget: { agentId: null, period: "day", units: Units(100), usedUnits: Units(100) },
      requiredUnits: Units(1),
      renewsAt: DateTime.unsafeMake("2026-07-02T00:00:00Z")
    }),
    read: (_message, { budget: { agentId, period, renewsAt, units, usedUnits }, requiredUnits }) =>
      new BudgetExceeded({
        budget: { agentId, period, units: Units(units), usedUnits: Units(usedUnits) },
        requiredUnits: Units(requiredUnits),
        renewsAt
      })
  }
)

export const BudgetAgentNotFoundBody = errorBody(BudgetAgentNotFound, {
  status: 404,
  error: "Agent not found",
  message: ({ agentIds }) => `There is no agent ${agentIds.join(", ")}. GET /api/agents lists yours.`,
  example: new BudgetAgentNotFound({ agentIds: [AgentId.make("agt_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b")] }),
  read: () => new BudgetAgentNotFound({ agentIds: [] })
})

export const PlanChangeDeclinedBody = errorBody(PlanChangeDeclined, {
  status: 402,
  error: "Card declined",
  message: ({ reason }) =>
    `${reason} The plan is unchanged. Change the card by POST /api/billing with the action portal.`,
  example: new PlanChangeDeclined({ reason: "Your card was declined." }),
  read: (message) => new PlanChangeDeclined({ reason: message })
})

export const PlanCurrencyConflictBody = errorBody(PlanCurrencyConflict, {
  status: 400,
  error: "Another subscription runs",
  message: ({ message }) => message,
  example: new PlanCurrencyConflict({ plan: "solo" }),
  read: () => new PlanCurrencyConflict({ plan: "solo" })
})
export const PurchaseNotFoundBody = plainErrorBody(PurchaseNotFound, {
  status: 400,
  error: "No purchase",
  message: "There is no purchase by card to manage. Start with a checkout."
})
export const CardProcessorNotConfiguredBody = plainErrorBody(CardProcessorNotConfigured, {
  status: 503,
  error: "Payment is not set up",
  message:
    "Payment is not set up on this service. Its operator enables it by STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET."
})
export const CardProcessorUnavailableBody = errorBody(CardProcessorUnavailable, {
  status: 503,
  error: "The card processor does not answer",
  message:
    "The card processor did not respond. Try again in a moment: the same purchase is made once, and credits that were paid for are added automatically.",
  read: () => new CardProcessorUnavailable({ reason: "unknown" })
})

export const CreditPackNotFoundBody = plainErrorBody(CreditPackNotFound, {
  status: 400,
  error: "Unknown pack",
  message: "pack: must be one of 50, 200, 500."
})
export const BillingPlanNotFoundBody = plainErrorBody(BillingPlanNotFound, {
  status: 400,
  error: "Unknown plan",
  message: "plan: must be one of starter, pro, scale."
})

export const OwnKeyProviderUnknownBody = plainErrorBody(OwnKeyProviderUnknown, {
  status: 400,
  error: "Unknown provider",
  message: `provider: must be one of ${modelCredentialKeys.join(", ")}.`
})
export const ApiKeyInvalidBody = reasonErrorBody(ApiKeyInvalid, {
  status: 400,
  error: "Invalid key",
  prefix: "apiKey: ",
  example: "is too short."
})
export const ModelKeyRejectedBody = errorBody(ModelKeyRejected, {
  status: 400,
  error: "The key was refused",
  message: ({ provider }) => `apiKey: ${provider} rejected this key. It was not stored.`,
  example: new ModelKeyRejected({ provider: "openai" }),
  read: () => new ModelKeyRejected({ provider: "openai" })
})
export const ModelKeyUnverifiableBody = errorBody(ModelKeyUnverifiable, {
  status: 503,
  error: "The key could not be checked",
  message: ({ provider }) =>
    `${provider} did not respond, so the key could not be verified and was not stored. Try again.`,
  example: new ModelKeyUnverifiable({ provider: "openai" }),
  read: () => new ModelKeyUnverifiable({ provider: "openai" })
})
