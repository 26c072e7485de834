import type { Duration } from "effect"
import { makeVendorErrorBodyReader } from "../vendor/VendorErrorBody.ts"
import { VendorRequestRejected } from "../vendor/VendorErrors.ts"
import { OpenAiErrorBody, type OpenAiErrorObject } from "./OpenAiBodies.ts"

/** An error object, with the status of its answer where that was not 200. */
export const readOpenAiError = (
  error: OpenAiErrorObject,
  status: number | null,
  retryAfter: Duration.Duration | undefined
): VendorRequestRejected => {
  if (typeof error === "string")
    return new VendorRequestRejected({ status, code: null, type: null, message: error, retryAfter })
  const { code } = error
  const isStatus = typeof code === "number" && code >= 400 && code < 600
  return new VendorRequestRejected({
    status: status ?? (isStatus ? code : null),
    code: code === null || code === undefined ? null : String(code),
    type: error.type ?? null,
    message: error.message ?? null,
    retryAfter
  })
}

export const readOpenAiErrorBody = makeVendorErrorBodyReader(OpenAiErrorBody, readOpenAiError)
