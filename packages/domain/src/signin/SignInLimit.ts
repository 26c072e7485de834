import type { RateLimiter } from "../limits/RateLimiter.ts"
import type { UserId } from "../shared/UserId.ts"

/** Successful sign-ins count per account and address, since each writes a session. */
export const takeSuccess = (limiter: RateLimiter["Type"], user: UserId, address: string) =>
  limiter.take("sign-in-success", `${user}|${address}`)
