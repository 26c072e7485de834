import { limitNames } from "@berth/domain/limits/Limit"
import { RateLimitExceeded } from "@berth/domain/limits/RateLimiter"
import { HttpApiMiddleware, HttpApiSchema } from "@effect/platform"
import { Duration, Schema } from "effect"
import { errorClassSchema, errorFields } from "../http/ErrorBody.ts"

/** 429; the body repeats the seconds of `Retry-After`. */
export const RateLimitExceededBody = Schema.transform(
  Schema.Struct({
    ...errorFields("rate_limit_exceeded"),
    limit: Schema.Literal(...limitNames),
    retryAfter: Schema.Number.annotations({ description: "Seconds" })
  }).annotations({ identifier: "RateLimitExceeded" }),
  errorClassSchema(RateLimitExceeded),
  {
    strict: true,
    decode: ({ limit, retryAfter }) => new RateLimitExceeded({ limit, retryAfter: Duration.seconds(retryAfter) }),
    encode: ({ limit, retryAfter }) => ({
      error: "Too many requests",
      message: `Too many requests. Try again in ${toRetryAfterSeconds(retryAfter)} seconds.`,
      code: "rate_limit_exceeded" as const,
      limit,
      retryAfter: toRetryAfterSeconds(retryAfter)
    })
  }
).annotations(HttpApiSchema.annotations({ status: 429, description: "Too many requests" }))

/** Value of `Retry-After`: whole seconds, at least one. */
export const toRetryAfterSeconds = (duration: Duration.Duration): number =>
  Math.max(1, Math.ceil(Duration.toSeconds(duration)))

/** Counts registrations per client address. */
export class RegisterLimit extends HttpApiMiddleware.Tag<RegisterLimit>()("RegisterLimit", {
  failure: RateLimitExceededBody
}) {}

/** Counts sign-ins per client address; a successful one is refunded. */
export class SignInLimit extends HttpApiMiddleware.Tag<SignInLimit>()("SignInLimit", {
  failure: RateLimitExceededBody
}) {}

/** Counts requests of a password reset per client address. */
export class ForgotPasswordLimit extends HttpApiMiddleware.Tag<ForgotPasswordLimit>()("ForgotPasswordLimit", {
  failure: RateLimitExceededBody
}) {}

/** Counts uses of a password reset token per client address. */
export class ResetPasswordLimit extends HttpApiMiddleware.Tag<ResetPasswordLimit>()("ResetPasswordLimit", {
  failure: RateLimitExceededBody
}) {}

/** Counts token gating checks per client address: each can cause a call to the chain. */
export class TokenGatingLimit extends HttpApiMiddleware.Tag<TokenGatingLimit>()("TokenGatingLimit", {
  failure: RateLimitExceededBody
}) {}
