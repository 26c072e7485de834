import type { TokenUsage } from "@berth/domain/ai/chat/ModelChat"

type Count = number | null | undefined

/** The details that a provider reports of its usage. */
export const makeTokenDetails = (
  cachedTokens: Count,
  reasoningTokens: Count
): Pick<TokenUsage, "cachedTokens" | "reasoningTokens"> => ({
  ...(typeof cachedTokens === "number" ? { cachedTokens } : {}),
  ...(typeof reasoningTokens === "number" ? { reasoningTokens } : {})
})
