import { InstanceOwnerAuth } from "@berth/api/instances/InstancesApi"
import { LifecycleAuthenticationRequired } from "@berth/api/instances/LifecycleErrorBodies"
import { InstanceNotOwned } from "@berth/domain/instances/InstanceErrors"
import { HttpRouter } from "@effect/platform"
import { Effect, Layer } from "effect"
import { RequestSession } from "../sessions/RequestSession.ts"

/** Proves that the instance in the path is the caller's. */
export const layer = Layer.effect(
  InstanceOwnerAuth,
  Effect.map(RequestSession, (session) =>
    InstanceOwnerAuth.of({
      session: () =>
        Effect.gen(function* () {
          const { user } = yield* Effect.mapError(session.require, () => new LifecycleAuthenticationRequired())
          const { params } = yield* HttpRouter.RouteContext
          return params["userId"] === user.id ? user : yield* new InstanceNotOwned()
        })
    })
  )
)
