import type { Duration } from "effect"
import { classifyStatus, type FailureKind } from "../vendor/ProviderFailure.ts"
import { makeVendorErrorBodyReader } from "../vendor/VendorErrorBody.ts"
import { VendorRequestRejected } from "../vendor/VendorErrors.ts"
import { OpenAiErrorBody, type OpenAiErrorObject } from "./OpenAiBodies.ts"

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

const classifyByCode = ({ code, type }: VendorRequestRejected): FailureKind | null => {
  const words = `${code ?? ""} ${type ?? ""}`
  if (/insufficient_quota|invalid_api_key|authentication|permission|billing/.test(words)) return "unauthorized"
  if (/rate_limit|tokens_per|requests_per/.test(words)) return "rate-limited"
  if (/invalid_request|not_found|context_length|content_(filter|policy)/.test(words)) return "refused"
  return null
}

/** Classifies an error of OpenAI, OpenRouter or Groq. An exhausted quota is a permanent 429. */
export const classifyOpenAiFailure = (rejection: VendorRequestRejected): FailureKind => {
  const kind = classifyByCode(rejection)
  if (rejection.status === null) return kind ?? classifyStatus(null)
  return rejection.status === 429 && kind === "unauthorized" ? kind : classifyStatus(rejection.status)
}
