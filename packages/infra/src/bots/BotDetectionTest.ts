import { BotDetection, type Visitor } from "@berth/domain/accounts/bot-detection/BotDetection"
import { Context, Effect, Layer } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

export class BotDetectionTest extends Context.Tag("@berth/test/BotDetectionTest")<
  BotDetectionTest,
  TestPortHandle<Visitor, BotDetection["Type"]>
>() {}

/** Accepts every visitor, unless the behavior is replaced. */
export const layer: Layer.Layer<BotDetection | BotDetectionTest> = Layer.effectContext(
  Effect.map(makeTestPort<Visitor, BotDetection["Type"]>({ check: () => Effect.void }), ({ handle, run }) =>
    Context.make(BotDetection, { check: (visitor) => run(visitor, ({ check }) => check(visitor)) }).pipe(
      Context.add(BotDetectionTest, handle)
    )
  )
)
