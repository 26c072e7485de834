import { TooManyRequests } from "@berth/domain/limits/RateLimiter"
import { HttpApiMiddleware, HttpApiSchema } from "@effect/platform"
import { Duration, Schema } from "effect"
import { classOf, errorFields } from "../http/ErrorBody.ts"

/** 429, with `Retry-After` in the header and the seconds again in the body. */
export const TooManyRequestsBody = Schema.transform(
  Schema.Struct({
    ...errorFields("too_many_requests"),
    limit: Schema.Literal(
      "register",
      "sign-in",
      "sign-in-account",
      "forgot-password",
      "forgot-password-account",
      "reset-password",
      "email-verification",
      "provision",
      "wallet-create",
      "gateway"
    ),
    retryAfter: Schema.Number.annotations({ description: "Seconds" })
  }).annotations({ identifier: "TooManyRequests" }),
  classOf(TooManyRequests),
  {
    strict: true,
    decode: ({ limit, retryAfter }) => new TooManyRequests({ limit, retryAfter: Duration.seconds(retryAfter) }),
    encode: ({ limit, retryAfter }) => ({
      error: "Too many requests",
      message: `Too many requests. Try again in ${retryAfterSeconds(retryAfter)} seconds.`,
      code: "too_many_requests" as const,
      limit,
      retryAfter: retryAfterSeconds(retryAfter)
    })
  }
).annotations(HttpApiSchema.annotations({ status: 429, description: "Too many requests" }))

/** Whole seconds, at least one: what `Retry-After` says. */
export const retryAfterSeconds = (duration: Duration.Duration): number =>
  Math.max(1, Math.ceil(Duration.toSeconds(duration)))

/** Counts registrations per client address. */
export class RegisterLimit extends HttpApiMiddleware.Tag<RegisterLimit>()("RegisterLimit", {
  failure: TooManyRequestsBody
}) {}

/** Counts sign-ins per client address; a right one gives its count back. */
export class SignInLimit extends HttpApiMiddleware.Tag<SignInLimit>()("SignInLimit", {
  failure: TooManyRequestsBody
}) {}

/** Counts forgotten passwords per client address. */
export class ForgotPasswordLimit extends HttpApiMiddleware.Tag<ForgotPasswordLimit>()("ForgotPasswordLimit", {
  failure: TooManyRequestsBody
}) {}

/** Counts attempts to set a password by a token per client address. */
export class ResetPasswordLimit extends HttpApiMiddleware.Tag<ResetPasswordLimit>()("ResetPasswordLimit", {
  failure: TooManyRequestsBody
}) {}
