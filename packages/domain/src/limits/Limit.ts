import { Data, Duration, Either, Struct } from "effect"

export interface Limit {
  readonly count: number
  readonly window: Duration.Duration
}

/** Limits by name, unless `LIMIT_<NAME>` is set. */
const defaults = {
  register: { count: 10, window: Duration.hours(1) },
  "sign-in": { count: 10, window: Duration.minutes(15) },
  "sign-in-account": { count: 10, window: Duration.minutes(15) },
  "sign-in-success": { count: 200, window: Duration.minutes(15) },
  "forgot-password": { count: 5, window: Duration.hours(1) },
  "forgot-password-account": { count: 3, window: Duration.hours(1) },
  "reset-password": { count: 10, window: Duration.hours(1) },
  "email-verification": { count: 5, window: Duration.hours(1) },
  "api-keys": { count: 100, window: Duration.hours(1) },
  provision: { count: 5, window: Duration.hours(1) },
  "wallet-create": { count: 5, window: Duration.hours(1) },
  wallet: { count: 60, window: Duration.minutes(1) },
  verification: { count: 60, window: Duration.minutes(1) },
  "verification-agent": { count: 20, window: Duration.minutes(1) },
  lifecycle: { count: 60, window: Duration.minutes(1) },
  logs: { count: 300, window: Duration.minutes(1) },
  search: { count: 60, window: Duration.minutes(1) },
  "token-gating": { count: 60, window: Duration.minutes(1) },
  "runtime-model": { count: 600, window: Duration.minutes(1) },
  "runtime-page": { count: 60, window: Duration.minutes(1) },
  "runtime-wallet": { count: 60, window: Duration.minutes(1) },
  "runtime-a2a": { count: 60, window: Duration.minutes(1) },
  "runtime-spans": { count: 120, window: Duration.minutes(1) },
  gateway: { count: 100, window: Duration.minutes(1) }
}
export type LimitName = keyof typeof defaults
export const limitNames = Struct.keys(defaults)
export const defaultLimits: Record<LimitName, Limit> = defaults

/**
 * While the store is unavailable, only the gateway's limit is counted per process, since each of its calls is paid for.
 */
export const isCountedWithoutStore = (name: LimitName): boolean => name === "gateway"

/** Limits with many requests per key: their takes may be counted shortly after admission. */
export const isCountedLater = (name: LimitName): boolean =>
  name === "gateway" || name === "runtime-model" || name === "runtime-spans"

/** Limits of failures: a success refunds its take, and rejected takes do not count. */
export const isRefunded = (name: LimitName): boolean => name === "sign-in" || name === "sign-in-account"

/** The text of a limit is not `count/window`. */
class LimitMalformed extends Data.TaggedError("LimitMalformed")<{
  readonly text: string
  readonly reason: string
}> {}

const maximumCount = 1_000_000_000
const maximumWindow = Duration.days(366)

const units: Record<string, (n: number) => Duration.Duration> = {
  s: Duration.seconds,
  m: Duration.minutes,
  h: Duration.hours,
  d: Duration.days
}

/** Parses `count/window`, for example `10/1h`; the window is a whole number of s, m, h or d. */
export const parseLimit = (text: string): Either.Either<Limit, LimitMalformed> => {
  const malformed = (reason: string) => Either.left(new LimitMalformed({ text, reason }))
  const [before, after, ...more] = text.trim().split("/")
  if (before === undefined || after === undefined || more.length > 0)
    return malformed("must be count/window, for example 10/1h")
  const count = wholeNumber(before)
  if (count < 1 || count > maximumCount)
    return malformed(`the count must be a whole number from 1 to ${maximumCount}, not "${before}"`)
  const unit = units[after.slice(-1)]
  if (unit === undefined) return malformed(`the window must end in s, m, h or d, not "${after}"`)
  const length = wholeNumber(after.slice(0, -1))
  if (length < 1) return malformed(`the window must be a whole number of at least 1 and a unit, not "${after}"`)
  const window = unit(length)
  if (Duration.greaterThan(window, maximumWindow)) return malformed(`the window must not be longer than 366d`)
  return Either.right({ count, window })
}

/** 0 for any other text. */
const wholeNumber = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : 0)
