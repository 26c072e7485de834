import type { ChatOpening } from "@berth/domain/ai/ChatRequest"
import type { ProviderFailed } from "@berth/domain/ai/ModelChat"
import { HttpApp, HttpServerResponse } from "@effect/platform"
import { retryAfterSeconds } from "@berth/api/limits/RateLimits"
import { Effect } from "effect"

/** Who answered, what was tried before, and what the choosing took. */
export const openingHeaders = ({ attempts, model, overheadMs, provider }: ChatOpening): Record<string, string> => ({
  "x-berth-model": model,
  "x-berth-provider": provider,
  "x-berth-attempts": attempts.map((attempt) => `${attempt.provider}:${attempt.model}`).join(", "),
  "x-berth-overhead-ms": String(Math.round(overheadMs * 1000) / 1000)
})

/** A decimal without an exponent, so that whoever reads it need know only one way to write a number. */
const dollars = (costUsd: number) => costUsd.toFixed(12).replace(/\.?0+$/, "")

/** The same of a whole answer, with what it cost. */
export const answerHeaders = (answer: ChatOpening & { readonly costUsd: number }): Record<string, string> => ({
  ...openingHeaders(answer),
  "x-berth-cost-usd": dollars(answer.costUsd)
})

export const setHeaders = (headers: Record<string, string>) =>
  HttpApp.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers))
  )

/** When to come back, where the provider has said so. */
export const tellWhenToRetry = ({ retryAfter }: ProviderFailed) =>
  retryAfter === undefined ? Effect.void : setHeaders({ "retry-after": String(retryAfterSeconds(retryAfter)) })
