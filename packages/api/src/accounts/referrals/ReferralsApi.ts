import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { SessionAuth } from "../../sessions/SessionAuth.ts"

const described = (description: string) => Schema.Number.annotations({ description })

const ReferralSummary = Schema.Struct({
  code: Schema.String.annotations({ description: "Code with which new users register" }),
  credits: described("Credits of a referral for each user"),
  referrals: described("Users who registered with the code"),
  pending: described("Referrals whose credits wait for a verified email address"),
  earnedCredits: described("Credits earned so far"),
  rewardsLeftToday: described("Referrals that are still rewarded this UTC day")
}).annotations({ identifier: "Referral" })

const referral = HttpApiEndpoint.get("referral", "/api/settings/referral")
  .addSuccess(ReferralSummary)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Retrieve the referral code and its rewards")

export class ReferralsApi extends HttpApiGroup.make("referrals").add(referral).addError(InternalFailureBody) {}
