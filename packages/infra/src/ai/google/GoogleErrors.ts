import { Array, Duration, Option, Schema } from "effect"
import { applyStage, type ChunkSource, type StageOutput } from "../vendor/ChunkStage.ts"
import { classifyStatus, type FailureKind } from "../vendor/ProviderFailure.ts"
import { makeVendorErrorBodyReader } from "../vendor/VendorErrorBody.ts"
import { VendorRequestRejected } from "../vendor/VendorErrors.ts"
import { type GoogleError, GoogleErrorBody, GoogleErrorDetail } from "./GoogleBodies.ts"

const parseSeconds = (text: string): Duration.Duration | undefined => {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(text)?.[1]
  return seconds === undefined ? undefined : Duration.seconds(Number(seconds))
}

/** `code` is the reason in the error's details, `type` its status word. The details may contain the retry delay. */
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

/** Classifies an error of Google. An invalid key is an invalid argument with a separate code. */
export const classifyGoogleFailure = ({ code, status, type }: VendorRequestRejected): FailureKind => {
  if (code?.startsWith("API_KEY_") === true) return "unauthorized"
  switch (type) {
    case "UNAUTHENTICATED":
    case "PERMISSION_DENIED":
      return "unauthorized"
    case "RESOURCE_EXHAUSTED":
      return "rate-limited"
    case "DEADLINE_EXCEEDED":
      return "timeout"
    case "INTERNAL":
    case "UNAVAILABLE":
    case "ABORTED":
    case "UNKNOWN":
      return "overloaded"
    case "INVALID_ARGUMENT":
    case "FAILED_PRECONDITION":
    case "OUT_OF_RANGE":
    case "NOT_FOUND":
    case "UNIMPLEMENTED":
      return "refused"
    case null:
    default:
      return classifyStatus(status)
  }
}

/** Maximum characters; an error has a few hundred. */
const maximumErrorLength = 64 * 1024

const blankLine = /\r\n\r\n|\n\n|\r\r/

/** Returns the error after the last event of a text. */
export const findStreamError = (text: string): Option.Option<VendorRequestRejected> =>
  Option.fromNullable(text.split(blankLine).findLast((part) => part.trim() !== "")).pipe(
    Option.flatMap(Schema.decodeUnknownOption(GoogleErrorBody)),
    Option.map(({ error }) => readGoogleError(error, null, undefined))
  )

/** Fails if the text ends in an error, which Google sends as bare JSON. An SSE parser would skip it. */
export const failOnStreamError = <E>(texts: ChunkSource<string, E>): ChunkSource<string, E | VendorRequestRejected> => {
  let tail = ""
  return applyStage(texts, {
    step: (values): StageOutput<string, VendorRequestRejected> => {
      tail = (tail + values.join("")).slice(-maximumErrorLength)
      return { values }
    },
    end: () => ({ values: [], failure: Option.getOrUndefined(findStreamError(tail)) })
  })
}
