import type { TokenUsage } from "@berth/domain/ai/chat/ModelChat"

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** Returns the reported details of usage; drops values that are not counts. */
export const makeTokenDetails = (
  cachedTokens: unknown,
  reasoningTokens: unknown
): Pick<TokenUsage, "cachedTokens" | "reasoningTokens"> => ({
  ...(isCount(cachedTokens) ? { cachedTokens } : {}),
  ...(isCount(reasoningTokens) ? { reasoningTokens } : {})
})
