import { type Duration, Option, Schema } from "effect"
import { readRefusalBody } from "../wire/Refusals.ts"
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

export const refusalOfBody = readRefusalBody(ErrorBody, refusalOf)
