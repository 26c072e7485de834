import { Headers } from "@effect/platform"
import { Option } from "effect"

/*
 * Rate limits reported by Discord: a bucket per route and top-level resource, and a global limit per bot.
 * https://docs.discord.com/developers/topics/rate-limits
 */

/** Epoch milliseconds before which no request may be sent, by bot and route; without a route for the global limit. */
export type RateLimits = ReadonlyMap<string, number>

/** Maximum entries before expired ones are removed. */
const maximumEntries = 10_000

interface LimitedRoute {
  /** Token of the bot; empty for requests without it. */
  readonly bot: string
  /** Method and path, without ids except those of the top-level resource. */
  readonly route: string
}

const keyOf = ({ bot, route }: LimitedRoute) => `${bot} ${route}`

/** Returns the milliseconds to wait before a request. */
export const delayBefore = (limits: RateLimits, limited: LimitedRoute, now: number): number =>
  Math.max(
    0,
    (limits.get(keyOf(limited)) ?? 0) - now,
    limited.bot === "" ? 0 : (limits.get(keyOf({ ...limited, route: "" })) ?? 0) - now
  )

const number = (headers: Headers.Headers, name: string) =>
  Option.filter(Option.map(Headers.get(headers, name), Number), Number.isFinite)

/** Reads the delay of a 429 in seconds, from its body or headers. */
export const readRetrySeconds = (headers: Headers.Headers, bodySeconds: number | null | undefined): number =>
  Math.max(0, bodySeconds ?? Option.getOrElse(number(headers, "retry-after"), () => 1))

const isGlobal = (headers: Headers.Headers) =>
  Option.contains(Headers.get(headers, "x-ratelimit-global"), "true") ||
  Option.contains(Headers.get(headers, "x-ratelimit-scope"), "global")

const add = (limits: RateLimits, limited: LimitedRoute, until: number, now: number): RateLimits => {
  const current = limits.size < maximumEntries ? limits : [...limits].filter(([, end]) => end > now)
  return new Map(current).set(keyOf(limited), until)
}

/** Updates the limits after a response. `retrySeconds` is set for a 429. */
export const applyAnswer = (
  limits: RateLimits,
  {
    headers,
    limited,
    now,
    retrySeconds
  }: {
    readonly limited: LimitedRoute
    readonly now: number
    readonly headers: Headers.Headers
    readonly retrySeconds: Option.Option<number>
  }
): RateLimits => {
  if (Option.isSome(retrySeconds))
    return add(limits, isGlobal(headers) ? { ...limited, route: "" } : limited, now + retrySeconds.value * 1_000, now)
  const resetAfter = number(headers, "x-ratelimit-reset-after")
  return Option.contains(number(headers, "x-ratelimit-remaining"), 0) && Option.isSome(resetAfter)
    ? add(limits, limited, now + resetAfter.value * 1_000, now)
    : limits
}
