import { WebApi } from "@berth/api/WebApi"
import { Referrals } from "@berth/domain/accounts/referrals/Referrals"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"

export const layer = HttpApiBuilder.group(WebApi, "referrals", (handlers) =>
  Effect.map(Referrals, (referrals) =>
    handlers.handle("referral", () => Effect.flatMap(CurrentUser, ({ user }) => referrals.summarize(user)))
  )
)
