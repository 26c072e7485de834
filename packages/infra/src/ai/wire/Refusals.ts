import type { Headers } from "@effect/platform"
import { type Duration, Option, Schema } from "effect"
import { retryAfterOf } from "./RetryAfter.ts"
import type { VendorRefused } from "./WireFailure.ts"

/** Reads a vendor's error object, with the status of its answer where that was not 200. */
export type RefusalReading<WireError> = (
  error: WireError,
  status: number | null,
  retryAfter: Duration.Duration | undefined
) => VendorRefused

/** An answer whose status says that it failed; a body that is not the vendor's (a proxy's page) is left out. */
export const readRefusalBody =
  <WireError>(
    body: Schema.Schema<{ readonly error: WireError }, string>,
    refusalOf: RefusalReading<WireError | Record<string, never>>
  ) =>
  (text: string, status: number, headers: Headers.Headers, now: number): VendorRefused =>
    refusalOf(
      Option.match(Schema.decodeUnknownOption(body)(text), {
        onNone: () => ({}),
        onSome: ({ error }) => error
      }),
      status,
      retryAfterOf(headers, now)
    )
