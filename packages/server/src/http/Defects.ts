import { retryAfterSeconds } from "@berth/api/limits/RateLimits"
import {
  InternalFailure,
  InternalFailureBody,
  ServiceIsUnavailable,
  ServiceIsUnavailableBody
} from "@berth/api/http/TransportErrors"
import { NotSignedInBody } from "@berth/api/sessions/SessionAuth"
import { Outages, type Unavailable } from "@berth/domain/limits/Unavailable"
import type { KnownCaller } from "@berth/domain/sessions/Caller"
import { NotSignedIn } from "@berth/domain/sessions/SessionErrors"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { HttpServerRespondable, type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Cause, Effect, Option } from "effect"
import { SessionCookie } from "../sessions/SessionCookie.ts"
import { errorResponse } from "./ErrorResponse.ts"
import { bodyRefusal, isBodyRefusal } from "./RequestBody.ts"

const unavailable = ({ retryAfter }: Unavailable) =>
  errorResponse(ServiceIsUnavailableBody, new ServiceIsUnavailable(), {
    "retry-after": String(retryAfterSeconds(retryAfter))
  })

/** How a listener answers what no endpoint has foreseen: an outage of what it stands on, a session that ended meanwhile, a bug. */
export const answerDefects = Effect.gen(function* () {
  const outages = yield* Outages
  const sessions = yield* Sessions
  const cookie = yield* SessionCookie

  /** Whether a request was signed in when it came, and is not any more: what it needed was deleted under its hands. */
  const hasLostItsSession = (request: HttpServerRequest.HttpServerRequest, { user }: KnownCaller) =>
    Effect.gen(function* () {
      const token = cookie.read(request)
      return (
        Option.isSome(yield* user) && Option.isSome(token) && Option.isNone(yield* sessions.authenticate(token.value))
      )
    }).pipe(
      Effect.catchAllCause((cause) =>
        Effect.as(Effect.logWarning("Whether a session still stands could not be asked", cause), false)
      )
    )

  const answerFault = (request: HttpServerRequest.HttpServerRequest, caller: KnownCaller, defect: unknown) =>
    Effect.if(hasLostItsSession(request, caller), {
      onTrue: () =>
        Effect.as(
          Effect.logInfo("A request was broken off, for its session ended meanwhile", Cause.die(defect)),
          errorResponse(NotSignedInBody, new NotSignedIn())
        ),
      onFalse: () =>
        Effect.as(
          Effect.logError("A request failed unexpectedly", Cause.die(defect)),
          errorResponse(InternalFailureBody, new InternalFailure())
        )
    })

  return (request: HttpServerRequest.HttpServerRequest, caller: KnownCaller) =>
    (defect: unknown): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
      if (isBodyRefusal(defect)) return Effect.succeed(bodyRefusal(defect))
      if (HttpServerRespondable.isRespondable(defect)) return Effect.orDie(HttpServerRespondable.toResponse(defect))
      return Option.match(outages.recognise(defect), {
        onSome: (outage) =>
          Effect.as(
            Effect.logWarning("A request was not carried out").pipe(Effect.annotateLogs("reason", outage.message)),
            unavailable(outage)
          ),
        onNone: () => answerFault(request, caller, defect)
      })
    }
})
