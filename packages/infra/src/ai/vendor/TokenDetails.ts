import type { TokenUsage } from "@berth/domain/ai/chat/ModelChat"

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** The details that a provider reports of its usage; what is no count is left out. */
export const makeTokenDetails = (
  cachedTokens: unknown,
  reasoningTokens: unknown
): Pick<TokenUsage, "cachedTokens" | "reasoningTokens"> => ({
  ...(isCount(cachedTokens) ? { cachedTokens } : {}),
  ...(isCount(reasoningTokens) ? { reasoningTokens } : {})
})
