import type { Headers } from "@effect/platform"
import { type Duration, Option, Schema } from "effect"
import { readRetryAfter } from "./RetryAfter.ts"
import type { VendorRequestRejected } from "./VendorErrors.ts"

/** Reads a vendor's error object, with the status of its answer where that was not 200. */
export type VendorErrorReader<WireError> = (
  error: WireError,
  status: number | null,
  retryAfter: Duration.Duration | undefined
) => VendorRequestRejected

/** An answer whose status says that it failed; a body that is not the vendor's (a proxy's page) is left out. */
export const makeVendorErrorBodyReader =
  <WireError>(
    body: Schema.Schema<{ readonly error: WireError }, string>,
    refusalOf: VendorErrorReader<WireError | Record<string, never>>
  ) =>
  (text: string, status: number, headers: Headers.Headers, now: number): VendorRequestRejected =>
    refusalOf(
      Option.match(Schema.decodeUnknownOption(body)(text), {
        onNone: () => ({}),
        onSome: ({ error }) => error
      }),
      status,
      readRetryAfter(headers, now)
    )
