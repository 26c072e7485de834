import { BillingPlanId, CheckoutPlanId } from "@berth/domain/billing/checkout/Purchase"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { UserNotFoundBody } from "../../accounts/AccountErrorBodies.ts"
import { payload } from "../../http/Payload.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { SessionAuth } from "../../sessions/SessionAuth.ts"

export const developmentPlanPath = "/api/development/plan"

const SoldPlan = Schema.Literal(...CheckoutPlanId.literals, ...BillingPlanId.literals)
const fields = { plan: SoldPlan }

/** JSON returns JSON; a form redirects to the onboarding. */
const takePlan = HttpApiEndpoint.post("takePlan", developmentPlanPath)
  .setPayload(
    Schema.Union(
      payload(fields),
      payload(fields).pipe(
        HttpApiSchema.withEncoding({ kind: "UrlParams", contentType: "application/x-www-form-urlencoded" })
      )
    )
  )
  .addSuccess(Schema.Struct({ plan: SoldPlan }).annotations({ identifier: "DevelopmentPlan" }))
  .addSuccess(Schema.Void, { status: 303 })
  .addError(UserNotFoundBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Select a plan without payment")
  .annotate(
    OpenApi.Description,
    "Development without a card processor only. In production, or when a card processor is configured, this route does not exist (404)."
  )

export class DevelopmentPlansApi extends HttpApiGroup.make("developmentPlans")
  .add(takePlan)
  .addError(InternalFailureBody) {}
