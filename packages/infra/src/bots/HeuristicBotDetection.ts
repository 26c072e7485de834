import { BotDetection, BotBlocked, type Visitor } from "@berth/domain/accounts/bot-detection/BotDetection"
import { detectBotSignals } from "@berth/domain/accounts/bot-detection/BotSignals"
import { Effect, Layer } from "effect"
import { isbot } from "isbot"

/** Checks request headers and the `isbot` list of user agents. */
export const layer: Layer.Layer<BotDetection> = Layer.succeed(BotDetection, {
  check: Effect.fn("BotDetection.check")(function* ({ headers }: Visitor) {
    const signs = detectBotSignals(headers, isbot)
    if (signs.length === 0) return
    yield* Effect.logInfo("Request blocked as automated").pipe(Effect.annotateLogs({ signs: signs.join(", ") }))
    return yield* new BotBlocked()
  })
})
