import type { Headers } from "@effect/platform"
import { type Duration, Option, Schema } from "effect"
import { retryAfterOf } from "../wire/RetryAfter.ts"
import { VendorRefused } from "../wire/WireFailure.ts"
import { ErrorBody, ErrorDetails, type WireError } from "./WireBodies.ts"

/** An error object, with the status of its answer where that was not 200. */
export const refusalOf = (
  error: WireError,
  status: number | null,
  retryAfter: Duration.Duration | undefined
): VendorRefused =>
  new VendorRefused({
    status,
    code: Option.match(Schema.decodeUnknownOption(ErrorDetails)(error.details), {
      onNone: () => null,
      onSome: ({ error_code }) => error_code
    }),
    type: error.type ?? null,
    message: error.message ?? null,
    retryAfter
  })

/** An answer whose status says that it failed; a body that is not the vendor's (a proxy's page) is left out. */
export const refusalOfBody = (body: string, status: number, headers: Headers.Headers, now: number): VendorRefused =>
  refusalOf(
    Option.match(Schema.decodeUnknownOption(ErrorBody)(body), {
      onNone: () => ({}),
      onSome: ({ error }) => error
    }),
    status,
    retryAfterOf(headers, now)
  )
