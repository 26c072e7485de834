import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { CardEventRepository } from "@berth/domain/billing/events/CardEventRepository"
import { Config, Context, Effect, Layer, Logger } from "effect"
import { makeCardEventWorker } from "../billing/CardEventWorkers.ts"

/* A process that applies an event and is killed: it reports progress on its standard output. */
const print = (word: string) =>
  Effect.zipRight(
    Effect.sync(() => process.stdout.write(`${word}\n`)),
    Effect.never
  )

const worker = Effect.gen(function* () {
  const url = yield* Config.redacted("DATABASE_URL")
  const event = yield* Config.string("EVENT")
  const stopsBefore = (yield* Config.string("STOP")) === "written"
  const events = Layer.effect(
    CardEventRepository,
    Effect.map(CardEventRepository, (real) => ({
      ...real,
      markApplied: (...applied: Parameters<typeof real.markApplied>) =>
        stopsBefore ? Effect.zipRight(real.markApplied(...applied), print("written")) : real.markApplied(...applied)
    }))
  )
  const { apply } = Context.get(yield* makeCardEventWorker(url, { events }), CardEventEffects)
  yield* apply(event)
  return yield* print("applied")
})

void Effect.runPromise(Effect.scoped(worker).pipe(Effect.provide(Logger.remove(Logger.defaultLogger))))
