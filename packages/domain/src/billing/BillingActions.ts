import { Data, Effect, Option, type Redacted, Schema } from "effect"
import { OwnModelKeys } from "../secrets/OwnModelKeys.ts"
import type { User } from "../shared/User.ts"
import type { PurchaseDeclined } from "./checkout/CardProcessor.ts"
import { Checkouts } from "./checkout/Checkouts.ts"
import { BillingPlanId } from "./checkout/Purchase.ts"
import { SavedCardCharges } from "./checkout/SavedCardCharges.ts"
import { findCreditPack, makePackPurchase } from "./credits/CreditPack.ts"
import { Allowances } from "./subscriptions/Allowances.ts"
import { UnitLedger } from "./units/UnitLedger.ts"

/** The billing API sells no plan of this name. */
export class BillingPlanNotFound extends Data.TaggedError("BillingPlanNotFound")<object> {}

export class CreditPackNotFound extends Data.TaggedError("CreditPackNotFound")<object> {}

/** The card was declined; the plan is unchanged. */
export class PlanChangeDeclined extends Data.TaggedError("PlanChangeDeclined")<{ readonly reason: string }> {}

/** The text is not a valid model key. */
export class ApiKeyInvalid extends Data.TaggedError("ApiKeyInvalid")<{ readonly reason: string }> {}

/** No saved card can be charged; a checkout can take another card. */
export class PaymentCardRequired extends Data.TaggedError("PaymentCardRequired")<{
  /** Present if a saved card was declined. */
  readonly refusal: Option.Option<PurchaseDeclined>
  readonly checkoutUrl: URL
}> {}

const isBillingPlan = Schema.is(BillingPlanId)

export class BillingActions extends Effect.Service<BillingActions>()("@berth/BillingActions", {
  effect: Effect.gen(function* () {
    const checkouts = yield* Checkouts
    const cards = yield* SavedCardCharges
    const allowances = yield* Allowances
    const ledger = yield* UnitLedger
    const ownKeys = yield* OwnModelKeys

    const findOverview = Effect.fn("BillingActions.findOverview")(function* (user: User) {
      return {
        currentPlan: user.plan,
        subscriptionStatus: Option.getOrElse(yield* allowances.findStatus(user), () => "none" as const),
        byokEnabled: yield* ownKeys.isEnabled(user.id),
        usage: yield* ledger.findUsage(user)
      }
    })

    const createCheckout = Effect.fn("BillingActions.createCheckout")(
      function* (user: User, plan: string) {
        if (!isBillingPlan(plan)) return yield* new BillingPlanNotFound()
        return yield* checkouts.start(user, { kind: "plan", plan }, { mayChange: true })
      },
      Effect.catchTag("PurchaseDeclined", ({ reason }) => new PlanChangeDeclined({ reason }))
    )

    const buyCredits = Effect.fn("BillingActions.buyCredits")(function* (user: User, packName: string) {
      const pack = yield* Effect.mapError(findCreditPack(packName), () => new CreditPackNotFound())
      const purchase = makePackPurchase(pack)
      const requireCard = (refusal: Option.Option<PurchaseDeclined>) =>
        Effect.flatMap(
          checkouts.create(user, purchase),
          (checkoutUrl) => new PaymentCardRequired({ refusal, checkoutUrl })
        )
      const isPaid = yield* Effect.catchTag(cards.charge(user, purchase), "PurchaseDeclined", (declined) =>
        requireCard(Option.some(declined))
      )
      return isPaid ? pack : yield* requireCard(Option.none())
    })

    /** Returns the provider whose calls use the key from now on. */
    const enableOwnKey = Effect.fn("BillingActions.enableOwnKey")(
      (user: User, provider: string, apiKey: Redacted.Redacted) => ownKeys.enable(user.id, provider, apiKey),
      Effect.catchTag("CredentialInvalid", ({ reason }) => new ApiKeyInvalid({ reason }))
    )

    return {
      findOverview,
      createCheckout,
      buyCredits,
      enableOwnKey,
      disableOwnKeys: (user: User) => ownKeys.disable(user.id),
      createPortalUrl: checkouts.createPortalUrl,
      findUsage: ledger.findUsage
    }
  })
}) {}
