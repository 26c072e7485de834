import { BotDetection } from "@berth/domain/accounts/bot-detection/BotDetection"
import { Effect, Layer } from "effect"

/** Accepts every request. */
export const layer: Layer.Layer<BotDetection> = Layer.succeed(BotDetection, { check: () => Effect.void })
