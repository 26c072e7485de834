import { CardProcessorIsNotConfigured, CardProcessorIsUnavailable } from "@berth/domain/billing/CardProcessor"
import { OtherPlanRuns } from "@berth/domain/billing/DecidePurchase"
import { CardIsNeeded, NothingWasBought } from "@berth/domain/billing/Purchases"
import { modelCredentialKeys } from "@berth/domain/secrets/Credential"
import { KeyCannotBeChecked, KeyIsRefused } from "@berth/domain/secrets/KeyCheck"
import { OwnKeyProviderIsUnknown } from "@berth/domain/secrets/OwnModelKeys"
import { HttpApiSchema } from "@effect/platform"
import { Data, Option, Schema } from "effect"
import { classOf, errorBody, errorFields } from "../http/ErrorBody.ts"

/** The card was declined, or there is none: 402 with a checkout that takes another one. */
export const CardIsNeededBody = Schema.transform(
  Schema.Struct({
    ...errorFields("payment_required"),
    checkoutUrl: Schema.String.annotations({ description: "A page on which the purchase can be paid, for a day" }),
    declineCode: Schema.NullOr(Schema.String).annotations({
      description: "Why the saved card was declined, where it was and its bank says so"
    })
  }).annotations({ identifier: "CardIsNeeded" }),
  classOf(CardIsNeeded),
  {
    strict: true,
    decode: ({ checkoutUrl }) => new CardIsNeeded({ refusal: Option.none(), checkoutUrl: new URL(checkoutUrl) }),
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

/** A plan was to be changed, and its card was declined. */
export class PlanChangeIsRefused extends Data.TaggedError("PlanChangeIsRefused")<{ readonly reason: string }> {}
export const PlanChangeIsRefusedBody = errorBody(PlanChangeIsRefused, {
  status: 402,
  code: "card_declined",
  error: "Card declined",
  message: ({ reason }) => `${reason} The plan stays as it was. The action portal leads to where the card is changed.`,
  read: (message) => new PlanChangeIsRefused({ reason: message })
})

export const OtherPlanRunsBody = errorBody(OtherPlanRuns, {
  status: 400,
  code: "other_currency",
  error: "Another subscription runs",
  message: ({ message }) => message,
  read: () => new OtherPlanRuns({ plan: "solo" })
})
export const NothingWasBoughtBody = errorBody(NothingWasBought, {
  status: 400,
  code: "nothing_bought",
  error: "Nothing bought",
  message: "You have bought nothing by card yet, so there is nothing to manage.",
  read: () => new NothingWasBought()
})
export const CardProcessorIsNotConfiguredBody = errorBody(CardProcessorIsNotConfigured, {
  status: 503,
  code: "card_processor_not_configured",
  error: "Payment is not set up",
  message: "Nothing can be bought here: the operator of this service has set up no card processor.",
  read: () => new CardProcessorIsNotConfigured()
})
export const CardProcessorIsUnavailableBody = errorBody(CardProcessorIsUnavailable, {
  status: 503,
  code: "card_processor_unavailable",
  error: "The card processor does not answer",
  message:
    "The card processor does not answer. Try again in a moment: the same purchase is made once, and credits that were paid for come by themselves.",
  read: () => new CardProcessorIsUnavailable({ reason: "unknown" })
})

/** No pack of credits is named like that. */
export class CreditPackIsUnknown extends Data.TaggedError("CreditPackIsUnknown")<object> {}
export const CreditPackIsUnknownBody = errorBody(CreditPackIsUnknown, {
  status: 400,
  code: "unknown_pack",
  error: "Unknown pack",
  message: "pack: must be one of 50, 200, 500.",
  read: () => new CreditPackIsUnknown()
})
/** The billing API sells no plan of this name. */
export class BillingPlanIsUnknown extends Data.TaggedError("BillingPlanIsUnknown")<object> {}
export const BillingPlanIsUnknownBody = errorBody(BillingPlanIsUnknown, {
  status: 400,
  code: "unknown_plan",
  error: "Unknown plan",
  message: "plan: must be one of starter, pro, scale.",
  read: () => new BillingPlanIsUnknown()
})

export const OwnKeyProviderIsUnknownBody = errorBody(OwnKeyProviderIsUnknown, {
  status: 400,
  code: "unknown_provider",
  error: "Unknown provider",
  message: `provider: must be one of ${modelCredentialKeys.join(", ")}.`,
  read: () => new OwnKeyProviderIsUnknown()
})
/** What was given cannot be a key of anybody's. */
export class ApiKeyIsInvalid extends Data.TaggedError("ApiKeyIsInvalid")<{ readonly reason: string }> {}
export const ApiKeyIsInvalidBody = errorBody(ApiKeyIsInvalid, {
  status: 400,
  code: "invalid_api_key",
  error: "Invalid key",
  message: ({ reason }) => `apiKey: ${reason}`,
  read: (message) => new ApiKeyIsInvalid({ reason: message.replace(/^apiKey: /, "") })
})
export const KeyIsRefusedBody = errorBody(KeyIsRefused, {
  status: 400,
  code: "key_refused",
  error: "The key was refused",
  message: ({ provider }) => `apiKey: ${provider} does not take this key. It was not kept.`,
  read: () => new KeyIsRefused({ provider: "openai" })
})
export const KeyCannotBeCheckedBody = errorBody(KeyCannotBeChecked, {
  status: 503,
  code: "key_not_checked",
  error: "The key could not be checked",
  message: ({ provider }) =>
    `${provider} does not answer, so the key could not be checked and was not kept. Try again.`,
  read: () => new KeyCannotBeChecked({ provider: "openai" })
})
