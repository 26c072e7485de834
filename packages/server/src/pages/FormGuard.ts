import { BotBlockedBody } from "@berth/api/accounts/bot-detection/BotCheck"
import { RateLimitExceededBody } from "@berth/api/limits/RateLimits"
import type { BotBlocked } from "@berth/domain/accounts/bot-detection/BotDetection"
import type { RateLimitExceeded } from "@berth/domain/limits/RateLimiter"
import type { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { makeErrorResponse } from "../http/ErrorResponse.ts"

/** Handles a form after its limit and the bot check, with the rejections of the JSON route. */
export const guardForm = <E, R, R2, R3>(
  limit: Effect.Effect<void, RateLimitExceeded, R2>,
  bots: Effect.Effect<void, BotBlocked, R3>,
  handle: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) =>
  Effect.matchEffect(Effect.zipRight(limit, bots), {
    onFailure: (error) =>
      Effect.succeed(
        error._tag === "BotBlocked"
          ? makeErrorResponse(BotBlockedBody, error)
          : makeErrorResponse(RateLimitExceededBody, error)
      ),
    onSuccess: () => handle
  })
