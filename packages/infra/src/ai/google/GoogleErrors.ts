import { Array, Duration, Schema } from "effect"
import { makeVendorErrorBodyReader } from "../vendor/VendorErrorBody.ts"
import { VendorRequestRejected } from "../vendor/VendorErrors.ts"
import { GoogleErrorBody, GoogleErrorDetail, type GoogleError } from "./GoogleBodies.ts"

const parseSeconds = (text: string): Duration.Duration | undefined => {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(text)?.[1]
  return seconds === undefined ? undefined : Duration.seconds(Number(seconds))
}

/**
 * An error object, with the status of its answer where that was not 200. Its code here is the word in its details, and
 * its type the word for its status. When to come back is in the details too, a header or not.
 */
export const readGoogleError = (
  error: GoogleError,
  status: number | null,
  retryAfter: Duration.Duration | undefined
): VendorRequestRejected => {
  const details = Array.filterMap(error.details ?? [], (detail) =>
    Schema.decodeUnknownOption(GoogleErrorDetail)(detail)
  )
  const delay = details.find(({ retryDelay }) => typeof retryDelay === "string")?.retryDelay
  const { code } = error
  const isStatus = typeof code === "number" && code >= 400 && code < 600
  return new VendorRequestRejected({
    status: status ?? (isStatus ? code : null),
    code: details.find(({ reason }) => typeof reason === "string")?.reason ?? null,
    type: error.status ?? null,
    message: error.message ?? null,
    retryAfter: retryAfter ?? parseSeconds(delay ?? "")
  })
}

export const readGoogleErrorBody = makeVendorErrorBodyReader(GoogleErrorBody, readGoogleError)
