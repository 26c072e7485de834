import { limitNames } from "@berth/domain/limits/Limit"
import { RateLimitExceeded } from "@berth/domain/limits/RateLimiter"
import { HttpApiMiddleware } from "@effect/platform"
import { Duration, Schema } from "effect"
import { extendedErrorBody } from "../http/ErrorBody.ts"

/** Returns the value of `Retry-After`: whole seconds, at least one. */
export const toRetryAfterSeconds = (duration: Duration.Duration): number =>
  Math.max(1, Math.ceil(Duration.toSeconds(duration)))

/** 429; the body repeats `Retry-After`. */
export const RateLimitExceededBody = extendedErrorBody(
  RateLimitExceeded,
  Schema.Struct({
    limit: Schema.Literal(...limitNames),
    retryAfter: Schema.Number.annotations({ description: "Seconds" })
  }),
  {
    status: 429,
    error: "Too many requests",
    message: ({ retryAfter }) => `Too many requests. Try again in ${toRetryAfterSeconds(retryAfter)} seconds.`,
    members: ({ limit, retryAfter }) => ({ limit, retryAfter: toRetryAfterSeconds(retryAfter) }),
    example: new RateLimitExceeded({ limit: "register", retryAfter: Duration.seconds(30) }),
    read: (_, { limit, retryAfter }) => new RateLimitExceeded({ limit, retryAfter: Duration.seconds(retryAfter) })
  }
)

export const makeRetryAfterHeader = (after: Duration.Duration | undefined): Readonly<Record<string, string>> =>
  after === undefined ? {} : { "retry-after": String(toRetryAfterSeconds(after)) }

/** `Retry-After` for an unknown time. */
export const retrySoon = Duration.seconds(1)

/** Counts registrations per client address. */
export class RegisterLimit extends HttpApiMiddleware.Tag<RegisterLimit>()("RegisterLimit", {
  failure: RateLimitExceededBody
}) {}

/** Counts sign-ins per client address; successful ones are refunded. */
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

/** Counts provisioning with channel tokens per client address. */
export class ProvisionLimit extends HttpApiMiddleware.Tag<ProvisionLimit>()("ProvisionLimit", {
  failure: RateLimitExceededBody
}) {}

/** Counts token gating checks per client address, since each can cause a call to the chain. */
export class TokenGatingLimit extends HttpApiMiddleware.Tag<TokenGatingLimit>()("TokenGatingLimit", {
  failure: RateLimitExceededBody
}) {}

/** Counts wallets of the developer platform per client address, since their creation requires no authentication. */
export class WalletCreateLimit extends HttpApiMiddleware.Tag<WalletCreateLimit>()("WalletCreateLimit", {
  failure: RateLimitExceededBody
}) {}
