import { type FailureKind, classifyStatus } from "../vendor/ProviderFailure.ts"
import type { VendorRequestRejected } from "../vendor/VendorErrors.ts"

const classifyByCode = ({ code, type }: VendorRequestRejected): FailureKind | null => {
  const words = `${code ?? ""} ${type ?? ""}`
  if (/insufficient_quota|invalid_api_key|authentication|permission|billing/.test(words)) return "unauthorized"
  if (/rate_limit|tokens_per|requests_per/.test(words)) return "rate-limited"
  if (/invalid_request|not_found|context_length|content_(filter|policy)/.test(words)) return "refused"
  return null
}

/** What a refusal of OpenAI, OpenRouter or Groq means. An exhausted quota comes as 429 too, but no waiting helps. */
export const classifyOpenAiFailure = (refusal: VendorRequestRejected): FailureKind => {
  const words = classifyByCode(refusal)
  if (refusal.status === null) return words ?? classifyStatus(null)
  return refusal.status === 429 && words === "unauthorized" ? words : classifyStatus(refusal.status)
}
