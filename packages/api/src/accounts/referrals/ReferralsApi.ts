import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { SessionAuth } from "../../sessions/SessionAuth.ts"

const described = (description: string) => Schema.Number.annotations({ description })

export const ReferralSummary = Schema.Struct({
  code: Schema.String.annotations({ description: "What others register with" }),
  credits: described("What a referral gives to either side"),
  referrals: described("People who came by the code"),
  pending: described("Of those, who have not confirmed their e-mail yet, where credits wait for it"),
  earnedCredits: described("What they have brought the user so far"),
  rewardsLeftToday: described("Further referrals this UTC day that give the user something")
}).annotations({ identifier: "Referral" })

/** GET /api/settings/referral */
const referral = HttpApiEndpoint.get("referral", "/api/settings/referral")
  .addSuccess(ReferralSummary)
  .middleware(SessionAuth)

export class ReferralsApi extends HttpApiGroup.make("referrals").add(referral).addError(InternalFailureBody) {}
