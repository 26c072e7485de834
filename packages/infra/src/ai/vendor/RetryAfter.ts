import type { Headers } from "@effect/platform"
import { Duration } from "effect"

const asNumber = (text: string | undefined): number | null => {
  const value = Number(text)
  return text === undefined || text.trim() === "" || !Number.isFinite(value) || value < 0 ? null : value
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date, from `now` in epoch milliseconds. */
export const readRetryAfter = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  const text = headers["retry-after"]
  const millis = asNumber(headers["retry-after-ms"])
  if (millis !== null) return Duration.millis(millis)
  const seconds = asNumber(text)
  if (seconds !== null) return Duration.seconds(seconds)
  const date = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(date) ? undefined : Duration.millis(Math.max(0, date - now))
}
