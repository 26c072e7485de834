import { BotDetection, BotIsBlocked, type Visitor } from "@berth/domain/accounts/BotDetection"
import { botSigns } from "@berth/domain/accounts/BotSigns"
import { Effect, Layer } from "effect"
import { isbot } from "isbot"

/** Judges by what a request looks like; the list of programs is the `isbot` package's. */
export const layer: Layer.Layer<BotDetection> = Layer.succeed(BotDetection, {
  judge: Effect.fn("BotDetection.judge")(function* ({ headers }: Visitor) {
    const signs = botSigns(headers, isbot)
    if (signs.length === 0) return
    yield* Effect.logInfo("A request was taken for a program's").pipe(Effect.annotateLogs({ signs: signs.join(", ") }))
    return yield* new BotIsBlocked()
  })
})
