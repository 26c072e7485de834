import { actingUserHeader, clientAddressHeader } from "@berth/api/http/ActingUserHeaders"
import { Caller } from "@berth/domain/sessions/Caller"
import { HttpClientRequest } from "@effect/platform"
import { Effect, Option } from "effect"

/** Tells the backend whom a request is made for, so that its limits and logs are about him and not about this process. */
export const addCallerHeaders = (
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<HttpClientRequest.HttpClientRequest> =>
  Effect.gen(function* () {
    const { address, user } = yield* Caller
    return HttpClientRequest.setHeaders(request, {
      ...Option.match(address, { onNone: () => ({}), onSome: (known) => ({ [clientAddressHeader]: known }) }),
      ...Option.match(yield* user, { onNone: () => ({}), onSome: (id) => ({ [actingUserHeader]: id }) })
    })
  })
