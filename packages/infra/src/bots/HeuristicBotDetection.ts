import { BotDetection, BotBlocked, type Visitor } from "@berth/domain/accounts/bot-detection/BotDetection"
import { detectBotSignals } from "@berth/domain/accounts/bot-detection/BotSignals"
import { Effect, Layer } from "effect"
import { isbot } from "isbot"

/** Judges by what a request looks like; the list of programs is the `isbot` package's. */
export const layer: Layer.Layer<BotDetection> = Layer.succeed(BotDetection, {
  check: Effect.fn("BotDetection.check")(function* ({ headers }: Visitor) {
    const signs = detectBotSignals(headers, isbot)
    if (signs.length === 0) return
    yield* Effect.logInfo("A request was taken for a program's").pipe(Effect.annotateLogs({ signs: signs.join(", ") }))
    return yield* new BotBlocked()
  })
})
