import { RuntimeAuth, RuntimeTokenInvalid } from "@berth/api/runtime/RuntimeModelApi"
import { Caller } from "@berth/domain/sessions/Caller"
import { Instances } from "@berth/domain/instances/Instances"
import { Effect, Layer, Option } from "effect"
import { currentBearerToken } from "../http/InternalAuthHttp.ts"

export const layer = Layer.effect(
  RuntimeAuth,
  Effect.map(Instances, (instances) =>
    RuntimeAuth.of({
      runtimeToken: () =>
        currentBearerToken.pipe(
          Effect.flatMap(
            Option.match({
              onNone: () => Effect.succeedNone,
              onSome: (token) => instances.findOwnerByRuntimeToken(token)
            })
          ),
          Effect.flatMap(Effect.mapError(() => new RuntimeTokenInvalid())),
          Effect.tap((owner) => Effect.flatMap(Caller, ({ identify }) => identify(owner)))
        )
    })
  )
)
