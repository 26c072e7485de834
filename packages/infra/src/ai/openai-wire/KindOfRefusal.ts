import { type FailureKind, kindOfStatus } from "../wire/ReadFailure.ts"
import type { VendorRefused } from "../wire/WireFailure.ts"

const ofWords = ({ code, type }: VendorRefused): FailureKind | null => {
  const words = `${code ?? ""} ${type ?? ""}`
  if (/insufficient_quota|invalid_api_key|authentication|permission|billing/.test(words)) return "unauthorized"
  if (/rate_limit|tokens_per|requests_per/.test(words)) return "rate-limited"
  if (/invalid_request|not_found|context_length|content_(filter|policy)/.test(words)) return "refused"
  return null
}

/** What a refusal of OpenAI, OpenRouter or Groq means. An exhausted quota comes as 429 too, but no waiting helps. */
export const kindOfRefusal = (refusal: VendorRefused): FailureKind => {
  const words = ofWords(refusal)
  if (refusal.status === null) return words ?? kindOfStatus(null)
  return refusal.status === 429 && words === "unauthorized" ? words : kindOfStatus(refusal.status)
}
