import { WebApi } from "@berth/api/WebApi"
import { Referrals } from "@berth/domain/accounts/referrals/Referrals"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

export const layer = group(WebApi, "referrals", (handlers) =>
  Effect.map(Referrals, (referrals) =>
    handlers.handle("referral", () => Effect.flatMap(CurrentUser, ({ user }) => referrals.summarize(user)))
  )
)
