import { makeRetryAfterHeader } from "@berth/api/limits/RateLimits"
import {
  InternalFailure,
  InternalFailureBody,
  ServiceUnavailable,
  ServiceUnavailableBody
} from "@berth/api/http/TransportErrors"
import { AuthenticationRequiredBody } from "@berth/api/sessions/SessionAuth"
import { OutageDetector, type DependencyUnavailable } from "@berth/domain/shared/DependencyUnavailable"
import type { CallerContext } from "@berth/domain/sessions/Caller"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { HttpServerRespondable, type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Cause, Effect, Option } from "effect"
import { SessionCookie } from "./SecretCookies.ts"
import { makeErrorResponse } from "./ErrorResponse.ts"
import { toBodyErrorResponse, isBodyFailure } from "./RequestBody.ts"

const respondUnavailable = ({ retryAfter }: DependencyUnavailable) =>
  makeErrorResponse(ServiceUnavailableBody, new ServiceUnavailable(), makeRetryAfterHeader(retryAfter))

/** Responds to defects: an unavailable dependency, a session that ended during the request, or a bug. */
export const makeDefectHandler = Effect.gen(function* () {
  const outages = yield* OutageDetector
  const sessions = yield* Sessions
  const cookie = yield* SessionCookie

  /** Whether the session of a request ended during the request. */
  const hasLostItsSession = Effect.fnUntraced(
    function* (request: HttpServerRequest.HttpServerRequest, { user }: CallerContext) {
      const token = cookie.read(request)
      return (
        Option.isSome(yield* user) && Option.isSome(token) && Option.isNone(yield* sessions.authenticate(token.value))
      )
    },
    Effect.catchAllCause((cause) => Effect.as(Effect.logWarning("Session check failed", cause), false))
  )

  const answerFault = (request: HttpServerRequest.HttpServerRequest, caller: CallerContext, defect: unknown) =>
    Effect.if(hasLostItsSession(request, caller), {
      onTrue: () =>
        Effect.as(
          Effect.logInfo("Request failed because its session ended", Cause.die(defect)),
          makeErrorResponse(AuthenticationRequiredBody, new AuthenticationRequired())
        ),
      onFalse: () =>
        Effect.as(
          Effect.logError("Request failed unexpectedly", Cause.die(defect)),
          makeErrorResponse(InternalFailureBody, new InternalFailure())
        )
    })

  return (request: HttpServerRequest.HttpServerRequest, caller: CallerContext) =>
    (defect: unknown): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
      if (isBodyFailure(defect)) return Effect.succeed(toBodyErrorResponse(defect))
      if (HttpServerRespondable.isRespondable(defect)) return Effect.orDie(HttpServerRespondable.toResponse(defect))
      return Option.match(outages.detect(defect), {
        onSome: (outage) =>
          Effect.as(
            Effect.logWarning("Request rejected during an outage").pipe(Effect.annotateLogs("reason", outage.message)),
            respondUnavailable(outage)
          ),
        onNone: () => answerFault(request, caller, defect)
      })
    }
})
