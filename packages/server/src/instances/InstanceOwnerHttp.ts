import { InstanceOwnerAuth } from "@berth/api/instances/InstancesApi"
import { LifecycleAuthenticationRequired } from "@berth/api/instances/LifecycleErrorBodies"
import { InstanceNotOwned } from "@berth/domain/instances/InstanceErrors"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { HttpRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Layer } from "effect"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { RequestCredentials } from "../http/RequestCredentials.ts"

/** Requires the owner of the instance; state changes count to the owner's limit. */
export const layer = Layer.effect(
  InstanceOwnerAuth,
  Effect.map(Effect.all([RequestCredentials, RateLimiter]), ([credentials, limiter]) =>
    InstanceOwnerAuth.of({
      session: () =>
        Effect.gen(function* () {
          const { user } = yield* Effect.catchTag(
            credentials.require,
            "AuthenticationRequired",
            () => new LifecycleAuthenticationRequired()
          )
          const { params } = yield* HttpRouter.RouteContext
          if (params["userId"] !== user.id) return yield* new InstanceNotOwned()
          const { method } = yield* HttpServerRequest.HttpServerRequest
          if (method === "POST") yield* Effect.tapError(limiter.take("lifecycle", user.id), addRetryAfter)
          return user
        })
    })
  )
)
