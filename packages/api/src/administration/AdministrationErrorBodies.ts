import {
  AdministratorProtected,
  UserInstanceMissing,
  UserSuspended
} from "@berth/domain/administration/AdministrationErrors"
import { CreditsInsufficient } from "@berth/domain/billing/credits/CreditAdjustments"
import { CardSubscriptionActive } from "@berth/domain/billing/subscriptions/ManualPlan"
import { Credits } from "@berth/domain/shared/Money"
import { errorBody, plainErrorBody } from "../http/ErrorBody.ts"

export const CardSubscriptionActiveBody = plainErrorBody(CardSubscriptionActive, {
  status: 409,
  error: "Card subscription active",
  message: "A card pays for this user's plan. Cancel that subscription at the card processor, then set the plan here."
})
export const AdministratorProtectedBody = plainErrorBody(AdministratorProtected, {
  status: 409,
  error: "Administrator protected",
  message: "Administrators cannot be suspended. Remove the address from `ADMIN_EMAILS` first."
})
export const UserInstanceMissingBody = plainErrorBody(UserInstanceMissing, {
  status: 404,
  error: "Instance not found",
  message: "This user has no instance."
})
export const UserSuspendedBody = plainErrorBody(UserSuspended, {
  status: 409,
  error: "User suspended",
  message: "The instance of a suspended account does not start. End the suspension first."
})
export const CreditsInsufficientBody = errorBody(CreditsInsufficient, {
  status: 409,
  error: "Credits insufficient",
  message: ({ balance }) => `The balance is ${balance} credits; take at most these.`,
  example: new CreditsInsufficient({ balance: Credits(50) }),
  read: (message) => new CreditsInsufficient({ balance: Credits(Number(/-?[\d.]+/.exec(message)?.[0])) })
})
