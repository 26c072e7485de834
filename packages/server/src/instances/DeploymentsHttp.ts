import { Deployment } from "@berth/api/instances/DeploymentsApi"
import { WebApi } from "@berth/api/WebApi"
import { Deployments } from "@berth/domain/instances/Deployments"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Principal } from "@berth/domain/sessions/Principal"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import { makeInstanceUrl } from "../agents/AgentUrls.ts"
import { makeModelWarning, makeWarningHeaders } from "../agents/ModelWarning.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { WebSettings } from "../http/WebSettings.ts"

const encodeDeployment = Schema.encodeSync(Deployment)

export const layer = group(WebApi, "deployments", (handlers) =>
  Effect.gen(function* () {
    const deployments = yield* Deployments
    const limiter = yield* RateLimiter
    const { agentsDomain, appUrl } = yield* WebSettings
    const warnOfModel = yield* makeModelWarning

    return handlers.handle("deploy", ({ payload: { agentId, config } }) =>
      Effect.gen(function* () {
        const { user } = yield* Principal
        yield* Effect.tapError(limiter.take("lifecycle", user.id), addRetryAfter)
        const change = Option.map(Option.fromNullable(config), ({ customModel, model, ...settings }) => ({
          model,
          customModel,
          config: settings
        }))
        const { agent, id, instance, isNew } = yield* deployments.deploy(user, agentId, change)
        const { runtimeVersion, subdomain } = instance
        const url = makeInstanceUrl(subdomain, agentsDomain, appUrl)
        const { status } = agent
        // Repetitions receive the headers of the response itself, but not headers added later.
        return HttpServerResponse.unsafeJson(
          encodeDeployment({ id, agentId: agent.id, subdomain, url, status, runtimeVersion }),
          { status: isNew ? 201 : 200, headers: makeWarningHeaders(yield* warnOfModel(agent)) }
        )
      })
    )
  })
)
