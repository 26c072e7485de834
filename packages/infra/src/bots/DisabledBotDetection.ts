import { BotDetection } from "@berth/domain/accounts/bot-detection/BotDetection"
import { Effect, Layer } from "effect"

/** Lets everybody pass. */
export const layer: Layer.Layer<BotDetection> = Layer.succeed(BotDetection, { check: () => Effect.void })
