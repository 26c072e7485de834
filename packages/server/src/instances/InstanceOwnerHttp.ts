import { InstanceOwnerAuth } from "@berth/api/instances/InstancesApi"
import { LifecycleAuthenticationRequired } from "@berth/api/instances/LifecycleErrorBodies"
import { InstanceNotOwned } from "@berth/domain/instances/InstanceErrors"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { HttpRouter, HttpServerRequest } from "@effect/platform"
import { Effect, Layer } from "effect"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"
import { RequestCredentials } from "../http/RequestCredentials.ts"

/**
 * Requires the owner of the instance. Every state change counts against the user's limit, or that of an anonymous
 * caller's address.
 */
export const layer = Layer.effect(
  InstanceOwnerAuth,
  Effect.map(Effect.all([RequestCredentials, RateLimiter]), ([credentials, limiter]) =>
    InstanceOwnerAuth.of({
      session: () =>
        Effect.gen(function* () {
          const { method } = yield* HttpServerRequest.HttpServerRequest
          const count = (key: string) =>
            method === "POST" ? Effect.tapError(limiter.take("lifecycle", key), addRetryAfter) : Effect.void
          const { user } = yield* Effect.catchTag(credentials.require, "AuthenticationRequired", () =>
            Effect.zipRight(Effect.flatMap(currentAddressKey, count), new LifecycleAuthenticationRequired())
          )
          yield* count(user.id)
          const { params } = yield* HttpRouter.RouteContext
          if (params["userId"] !== user.id) return yield* new InstanceNotOwned()
          return user
        })
    })
  )
)
