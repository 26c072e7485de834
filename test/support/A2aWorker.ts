import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import * as BackendWiring from "@berth/infra/wiring/BackendWiring"
import { Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import { a2aMessageHandler } from "@berth/worker/a2a/A2aMessageHandler"
import { Effect, Layer, Redacted } from "effect"
import * as App from "./TestApp.ts"

/** The application, and the services of a worker's messages between agents over its backend. */
export const layer = Layer.unwrapEffect(
  Effect.map(App.TestApp, ({ backendUrl, internalKey }) =>
    A2aDelivery.Default.pipe(
      Layer.provide(BackendWiring.remoteChannelTurns({ backendUrl, internalApiKey: Redacted.make(internalKey) }))
    )
  )
).pipe(Layer.provideMerge(App.layer()))

/** Delivers the waiting messages; returns their entries, which can be delivered again. */
export const deliverMessages = Effect.gen(function* () {
  const outbox = yield* Outbox
  const entries: Array<OutboxEntry> = []
  yield* outbox.relay(100, (entry) => Effect.sync(() => entries.push(entry)))
  yield* Effect.forEach(entries, ({ id }) => outbox.settle(id), { discard: true })
  const messages = entries.filter(({ name }) => name === a2aMessageHandler.kind.name)
  yield* Effect.forEach(messages, (entry) => a2aMessageHandler.handle({ ...entry, attempt: 1, isLastAttempt: false }), {
    concurrency: 4,
    discard: true
  })
  return messages
})
