import { WebApi } from "@berth/api/WebApi"
import { PlanChanges } from "@berth/domain/billing/events/PlanChanges"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { pagePaths } from "../pages/PagePaths.ts"

/** `/api/development/plan`, absent from the route table unless plans are offered without payment. */
export const layer = HttpApiBuilder.group(WebApi, "developmentPlans", (handlers) =>
  Effect.map(PlanChanges, (changes) =>
    handlers.handle("takePlan", ({ payload: { plan }, request }) =>
      Effect.gen(function* () {
        const { user } = yield* CurrentUser
        yield* changes.grant(user.id, plan)
        const isForm = (request.headers["content-type"] ?? "").includes("x-www-form-urlencoded")
        return isForm ? HttpServerResponse.redirect(pagePaths.onboarding, { status: 303 }) : { plan }
      })
    )
  )
)
