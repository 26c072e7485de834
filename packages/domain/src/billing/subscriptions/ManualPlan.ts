import { Data, Either, Option } from "effect"
import type { PlanId } from "../../shared/PlanId.ts"
import type { Subscription } from "./Subscription.ts"

/** A card pays for the plan, so the card processor determines it until that subscription ends. */
export class CardSubscriptionActive extends Data.TaggedError("CardSubscriptionActive")<object> {}

/** A stored subscription; `byCard` is true if the card processor has it. */
export type StoredSubscription = Pick<Subscription, "plan" | "status"> & { readonly byCard: boolean }

const isRunning = ({ status }: Pick<Subscription, "status">): boolean => status !== "canceled"

/** Whether an administrator set the plan, without a card. */
export const isManualPlan = (stored: StoredSubscription): boolean => !stored.byCard && isRunning(stored)

/** Returns the subscription for a plan set by an administrator; none if the user already has no plan. */
export const decideManualPlan = (
  stored: Option.Option<StoredSubscription>,
  plan: PlanId
): Either.Either<Option.Option<Pick<Subscription, "plan" | "status">>, CardSubscriptionActive> => {
  if (Option.exists(stored, (subscription) => subscription.byCard && isRunning(subscription)))
    return Either.left(new CardSubscriptionActive())
  if (plan !== "free") return Either.right(Option.some({ plan, status: "active" }))
  return Either.right(
    Option.map(Option.filter(stored, isRunning), ({ plan: ended }) => ({ plan: ended, status: "canceled" }))
  )
}
