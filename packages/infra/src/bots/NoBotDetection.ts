import { BotDetection } from "@berth/domain/accounts/BotDetection"
import { Effect, Layer } from "effect"

/** Lets everybody pass. */
export const layer: Layer.Layer<BotDetection> = Layer.succeed(BotDetection, { judge: () => Effect.void })
