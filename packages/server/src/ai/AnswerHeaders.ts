import { makeAnsweringModelHeaders } from "@berth/api/ai/AnsweringModelHeaders"
import type { ChatOpening } from "@berth/domain/ai/calls/ChatRequest"

/** The answering model, the attempts, and the overhead. */
export const makeOpeningHeaders = (opening: ChatOpening): Record<string, string> => ({
  "x-berth-attempts": opening.attempts.map((attempt) => `${attempt.provider}:${attempt.model}`).join(", "),
  "x-berth-overhead-ms": String(Math.round(opening.overheadMs * 1000) / 1000),
  ...makeAnsweringModelHeaders(opening)
})

/** A decimal without an exponent. */
const formatUsd = (costUsd: number) => costUsd.toFixed(12).replace(/\.?0+$/, "")

export const makeAnswerHeaders = (answer: ChatOpening & { readonly costUsd: number }): Record<string, string> => ({
  "x-berth-cost-usd": formatUsd(answer.costUsd),
  ...makeOpeningHeaders(answer)
})
