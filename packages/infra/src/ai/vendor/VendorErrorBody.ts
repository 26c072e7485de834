import type { Headers } from "@effect/platform"
import { Duration, Option, Schema } from "effect"
import type { VendorRequestRejected } from "./VendorErrors.ts"

/** Reads a vendor's error object; `status` is null for an error within a stream. */
type VendorErrorReader<WireError> = (
  error: WireError,
  status: number | null,
  retryAfter: Duration.Duration | undefined
) => VendorRequestRejected

const parseNonNegative = (text: string | undefined): number | null => {
  const value = Number(text)
  return text === undefined || text.trim() === "" || !Number.isFinite(value) || value < 0 ? null : value
}

/** Reads `retry-after-ms`, or `retry-after` in seconds or as a date, relative to `now` in epoch milliseconds. */
export const readRetryAfter = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  const text = headers["retry-after"]
  const millis = parseNonNegative(headers["retry-after-ms"])
  if (millis !== null) return Duration.millis(millis)
  const seconds = parseNonNegative(text)
  if (seconds !== null) return Duration.seconds(seconds)
  const date = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(date) ? undefined : Duration.millis(Math.max(0, date - now))
}

/** Reads the body of a failed response. Ignores bodies of others, such as a proxy's page. */
export const makeVendorErrorBodyReader =
  <WireError>(
    schema: Schema.Schema<{ readonly error: WireError }, string>,
    readError: VendorErrorReader<WireError | Record<string, never>>
  ) =>
  (body: string, status: number, headers: Headers.Headers, now: number): VendorRequestRejected =>
    readError(
      Option.match(Schema.decodeUnknownOption(schema)(body), { onNone: () => ({}), onSome: ({ error }) => error }),
      status,
      readRetryAfter(headers, now)
    )
