import {
  ForgotPasswordLimit,
  ProvisionLimit,
  RegisterLimit,
  ResetPasswordLimit,
  SignInLimit,
  TokenGatingLimit,
  WalletCreateLimit
} from "@berth/api/limits/RateLimits"
import { normalizeClientAddress } from "@berth/domain/limits/ClientAddress"
import type { LimitName } from "@berth/domain/limits/Limit"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Caller } from "@berth/domain/sessions/Caller"
import { Effect, Layer, Option } from "effect"
import { addRetryAfter } from "./ResponseHeaders.ts"

/** Returns the limit key of the current request's client address. */
export const currentAddressKey = Effect.map(Caller, ({ address }) =>
  normalizeClientAddress(Option.getOrElse(address, () => "unknown"))
)

const perAddress = (limit: LimitName) =>
  Effect.map(RateLimiter, (limiter) =>
    Effect.flatMap(currentAddressKey, (key) => Effect.tapError(limiter.take(limit, key), addRetryAfter))
  )

export const layer = Layer.mergeAll(
  Layer.effect(RegisterLimit, Effect.map(perAddress("register"), RegisterLimit.of)),
  Layer.effect(SignInLimit, Effect.map(perAddress("sign-in"), SignInLimit.of)),
  Layer.effect(ForgotPasswordLimit, Effect.map(perAddress("forgot-password"), ForgotPasswordLimit.of)),
  Layer.effect(ResetPasswordLimit, Effect.map(perAddress("reset-password"), ResetPasswordLimit.of)),
  Layer.effect(ProvisionLimit, Effect.map(perAddress("provision"), ProvisionLimit.of)),
  Layer.effect(TokenGatingLimit, Effect.map(perAddress("token-gating"), TokenGatingLimit.of)),
  Layer.effect(WalletCreateLimit, Effect.map(perAddress("wallet-create"), WalletCreateLimit.of))
)
