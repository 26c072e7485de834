import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import type { ChatOpening } from "@berth/domain/ai/calls/ChatRequest"
import { Effect } from "effect"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

/** Who answered, what was tried before, and what the choosing took. */
export const makeOpeningHeaders = ({ attempts, model, overheadMs, provider }: ChatOpening): Record<string, string> => ({
  "x-berth-model": model,
  "x-berth-provider": provider,
  "x-berth-attempts": attempts.map((attempt) => `${attempt.provider}:${attempt.model}`).join(", "),
  "x-berth-overhead-ms": String(Math.round(overheadMs * 1000) / 1000)
})

/** A decimal without an exponent, so that whoever reads it need know only one way to write a number. */
const formatUsd = (costUsd: number) => costUsd.toFixed(12).replace(/\.?0+$/, "")

/** The same of a whole answer, with what it cost. */
export const makeAnswerHeaders = (answer: ChatOpening & { readonly costUsd: number }): Record<string, string> => ({
  ...makeOpeningHeaders(answer),
  "x-berth-cost-usd": formatUsd(answer.costUsd)
})

/** When to come back, where the provider has said so. */
export const addProviderRetryAfter = ({ retryAfter }: ProviderFailed) =>
  retryAfter === undefined ? Effect.void : addRetryAfter({ retryAfter })
