import type { Duration } from "effect"
import { readRefusalBody } from "../wire/Refusals.ts"
import { VendorRefused } from "../wire/WireFailure.ts"
import { ErrorBody, type WireError } from "./WireBodies.ts"

/** An error object, with the status of its answer where that was not 200. */
export const refusalOf = (
  error: WireError,
  status: number | null,
  retryAfter: Duration.Duration | undefined
): VendorRefused => {
  if (typeof error === "string")
    return new VendorRefused({ status, code: null, type: null, message: error, retryAfter })
  const { code } = error
  const isStatus = typeof code === "number" && code >= 400 && code < 600
  return new VendorRefused({
    status: status ?? (isStatus ? code : null),
    code: code === null || code === undefined ? null : String(code),
    type: error.type ?? null,
    message: error.message ?? null,
    retryAfter
  })
}

export const refusalOfBody = readRefusalBody(ErrorBody, refusalOf)
