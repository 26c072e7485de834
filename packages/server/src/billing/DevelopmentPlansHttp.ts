import { WebApi } from "@berth/api/WebApi"
import { ManualPlans } from "@berth/domain/billing/subscriptions/ManualPlans"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { isForm } from "../http/RequestBody.ts"
import { pagePaths } from "../pages/PagePaths.ts"

/** `/api/development/plan`, absent from the route table unless plans are offered without payment. */
export const layer = group(WebApi, "developmentPlans", (handlers) =>
  Effect.map(ManualPlans, (plans) =>
    handlers.handle("takePlan", ({ payload: { plan }, request }) =>
      Effect.gen(function* () {
        const { user } = yield* CurrentUser
        yield* plans.grant(user.id, plan)
        return isForm(request) ? HttpServerResponse.redirect(pagePaths.onboarding, { status: 303 }) : { plan }
      })
    )
  )
)
