import { OwnInstanceAuth } from "@berth/api/instances/InstancesApi"
import { LifecycleNotSignedIn } from "@berth/api/instances/LifecycleErrorBodies"
import { InstanceIsNotYours } from "@berth/domain/instances/InstanceErrors"
import { HttpRouter } from "@effect/platform"
import { Effect, Layer } from "effect"
import { RequestSession } from "../sessions/RequestSession.ts"

/** Proves that the instance in the path is the caller's. */
export const layer = Layer.effect(
  OwnInstanceAuth,
  Effect.map(RequestSession, (session) =>
    OwnInstanceAuth.of({
      session: () =>
        Effect.gen(function* () {
          const { user } = yield* Effect.mapError(session.require, () => new LifecycleNotSignedIn())
          const { params } = yield* HttpRouter.RouteContext
          return params["userId"] === user.id ? user : yield* new InstanceIsNotYours()
        })
    })
  )
)
