import { SuspensionWatch } from "@berth/domain/accounts/suspension/SuspensionWatch"
import type { CallerContext } from "@berth/domain/sessions/Caller"
import { type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Effect, Option } from "effect"

/** Disconnects the client of a streamed response when its user is suspended; the scope is the request's. */
export const makeStreamEnd = Effect.map(
  SuspensionWatch,
  ({ awaitSuspension }) =>
    (
      request: HttpServerRequest.HttpServerRequest,
      caller: CallerContext,
      response: HttpServerResponse.HttpServerResponse
    ) =>
      Effect.gen(function* () {
        const user = yield* caller.user
        if (response.body._tag !== "Stream" || Option.isNone(user)) return
        const disconnect = Effect.sync(() => NodeHttpServerRequest.toServerResponse(request).destroy())
        yield* Effect.forkScoped(Effect.interruptible(Effect.zipRight(awaitSuspension(user.value), disconnect)))
      })
)
