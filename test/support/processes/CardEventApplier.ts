import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { CardEventRepository } from "@berth/domain/billing/events/CardEventRepository"
import { Config, Context, Effect, Layer, Logger } from "effect"
import { makeCardEventWorker } from "../billing/CardEventWorkers.ts"

/*
 * A process that lets an event have its effects and dies of it: it says how far it came on its standard output, and waits to be
 * killed.
 */
const say = (word: string) =>
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
        stopsBefore ? Effect.zipRight(real.markApplied(...applied), say("written")) : real.markApplied(...applied)
    }))
  )
  const { apply } = Context.get(yield* makeCardEventWorker(url, { events }), CardEventEffects)
  yield* apply(event)
  return yield* say("applied")
})

void Effect.runPromise(Effect.scoped(worker).pipe(Effect.provide(Logger.remove(Logger.defaultLogger))))
