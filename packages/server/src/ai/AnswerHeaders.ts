import { makeAnsweringModelHeaders } from "@berth/api/ai/AnsweringModelHeaders"
import type { ChatOpening } from "@berth/domain/ai/calls/ChatRequest"

/** The answering model, the attempts, and the overhead. */
export const makeOpeningHeaders = ({ attempts, overheadMs, ...opening }: ChatOpening): Record<string, string> => ({
  ...makeAnsweringModelHeaders(opening),
  "x-berth-attempts": attempts.map((attempt) => `${attempt.provider}:${attempt.model}`).join(", "),
  "x-berth-overhead-ms": String(Math.round(overheadMs * 1000) / 1000)
})

/** A decimal without an exponent. */
const formatUsd = (costUsd: number) => costUsd.toFixed(12).replace(/\.?0+$/, "")

/** The headers of a complete answer, with its cost. */
export const makeAnswerHeaders = (answer: ChatOpening & { readonly costUsd: number }): Record<string, string> => ({
  ...makeOpeningHeaders(answer),
  "x-berth-cost-usd": formatUsd(answer.costUsd)
})
