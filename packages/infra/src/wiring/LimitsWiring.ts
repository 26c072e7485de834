import { Option, type Redacted } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as PostgresRateLimiter from "../rate-limiter/PostgresRateLimiter.ts"
import * as RedisRateLimiter from "../rate-limiter/RedisRateLimiter.ts"

/** Limits in Redis if `REDIS_URL` is set, else in PostgreSQL. */
export const fromSettings = ({ limits, redisUrl }: Settings, databaseUrl: Redacted.Redacted) =>
  Option.match(redisUrl, {
    onNone: () => PostgresRateLimiter.layer({ url: databaseUrl, limits }),
    onSome: (url) => RedisRateLimiter.layer({ url, limits })
  })
