import { Context, Data, type Duration, type Effect } from "effect"

/** The named limits; each is set by `LIMIT_<NAME>` as `count/window`. */
export type LimitName =
  | "register"
  | "sign-in"
  | "sign-in-account"
  | "forgot-password"
  | "forgot-password-account"
  | "reset-password"
  | "email-verification"
  | "provision"
  | "wallet-create"
  | "gateway"

export interface Limit {
  readonly count: number
  readonly window: Duration.Duration
}

/** `retryAfter` says when the window that is full ends. */
export class RateLimitExceeded extends Data.TaggedError("RateLimitExceeded")<{
  readonly limit: LimitName
  readonly retryAfter: Duration.Duration
}> {}

/** Counts per limit and key, shared by all processes. Each take counts, whatever becomes of the request; `giveBack` returns one. */
export class RateLimiter extends Context.Tag("@berth/RateLimiter")<
  RateLimiter,
  {
    readonly take: (limit: LimitName, key: string) => Effect.Effect<void, RateLimitExceeded>
    readonly refund: (limit: LimitName, key: string) => Effect.Effect<void>
  }
>() {}

/** The key of a client address: IPv4 as it is, also when it is mapped into IPv6, and IPv6 by its /64, since one subscriber holds at least that much. */
export const normalizeClientAddress = (address: string): string => {
  const plain = address.trim().toLowerCase().replace(/%.*$/, "")
  if (!plain.includes(":")) return plain
  const groups = groupsOf(plain)
  const mapped = groups.slice(0, 5).every((group) => group === "0") && groups[5] === "ffff"
  if (mapped) return [groups[6], groups[7]].flatMap(bytesOf).join(".")
  return `${groups.slice(0, 4).join(":")}::/64`
}

/** The eight groups of an IPv6 address, without leading zeros. */
const groupsOf = (address: string): ReadonlyArray<string> => {
  const [head = "", tail] = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, dottedToHex).split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === undefined || tail === "" ? [] : tail.split(":")
  const missing = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  return [...left, ...Array.from({ length: missing }, () => "0"), ...right].map((group) =>
    group.replace(/^0+(?=.)/, "")
  )
}

const dottedToHex = (_: string, ...[a, b, c, d]: ReadonlyArray<string>): string =>
  [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(":")

const bytesOf = (group = "0"): ReadonlyArray<number> => {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 255]
}
