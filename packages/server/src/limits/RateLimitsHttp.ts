import {
  ForgotPasswordLimit,
  RegisterLimit,
  ResetPasswordLimit,
  toRetryAfterSeconds,
  SignInLimit
} from "@berth/api/limits/RateLimits"
import {
  normalizeClientAddress,
  type LimitName,
  RateLimiter,
  type RateLimitExceeded
} from "@berth/domain/limits/RateLimiter"
import { HttpApp, HttpServerResponse } from "@effect/platform"
import { Effect, Layer } from "effect"
import { currentClientAddress } from "../http/ClientAddress.ts"
import { WebSettings } from "../http/WebSettings.ts"

/** Says `Retry-After` on the answer to a request that was one too many. */
export const addRetryAfter = (error: RateLimitExceeded) =>
  HttpApp.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeader(response, "retry-after", String(toRetryAfterSeconds(error.retryAfter))))
  )

const perAddress = (limit: LimitName) =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const settings = yield* WebSettings
    return currentClientAddress.pipe(
      Effect.provideService(WebSettings, settings),
      Effect.flatMap((address) => limiter.take(limit, normalizeClientAddress(address))),
      Effect.tapError(addRetryAfter)
    )
  })

export const layer = Layer.mergeAll(
  Layer.effect(RegisterLimit, Effect.map(perAddress("register"), RegisterLimit.of)),
  Layer.effect(SignInLimit, Effect.map(perAddress("sign-in"), SignInLimit.of)),
  Layer.effect(ForgotPasswordLimit, Effect.map(perAddress("forgot-password"), ForgotPasswordLimit.of)),
  Layer.effect(ResetPasswordLimit, Effect.map(perAddress("reset-password"), ResetPasswordLimit.of))
)
