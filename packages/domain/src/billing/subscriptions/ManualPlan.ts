import { Data, Either, Option } from "effect"
import type { PlanId } from "../../shared/PlanId.ts"
import type { Subscription } from "./Subscription.ts"

/** A card pays for the plan: the card processor decides it until that subscription ends. */
export class CardSubscriptionActive extends Data.TaggedError("CardSubscriptionActive")<object> {}

/** A stored subscription; `byCard` is true if the card processor has it. */
export type StoredSubscription = Pick<Subscription, "plan" | "status"> & { readonly byCard: boolean }

const isRunning = ({ status }: Pick<Subscription, "status">): boolean => status !== "canceled"

/** Whether an administrator gave the plan, which no card pays for. */
export const isManualPlan = (stored: StoredSubscription): boolean => !stored.byCard && isRunning(stored)

/** The subscription for a plan set by hand; none when the user is without a plan already. */
export const decideManualPlan = (
  stored: Option.Option<StoredSubscription>,
  plan: PlanId
): Either.Either<Option.Option<Pick<Subscription, "plan" | "status">>, CardSubscriptionActive> => {
  if (Option.exists(stored, (known) => known.byCard && isRunning(known)))
    return Either.left(new CardSubscriptionActive())
  if (plan !== "free") return Either.right(Option.some({ plan, status: "active" }))
  return Either.right(
    Option.map(Option.filter(stored, isRunning), ({ plan: ended }) => ({ plan: ended, status: "canceled" }))
  )
}
