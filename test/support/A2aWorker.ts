import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { TurnBudgets } from "@berth/domain/interaction/turns/TurnBudgets"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import * as BackendChannelTurns from "@berth/infra/backend/BackendChannelTurns"
import { Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import { a2aMessageHandler } from "@berth/worker/jobs/JobHandlers"
import * as BackgroundJobs from "@berth/worker/jobs/BackgroundJobs"
import { Array, Effect, Layer, Redacted, Tracer } from "effect"
import { skillCatalog } from "./Samples.ts"
import * as App from "./TestApp.ts"

const sendingSkill = {
  id: "a2a-send",
  name: "Agent messages",
  description: "Sends messages",
  instructions: "…",
  tools: ["send_message"],
  basic: false
}

/** Handlers return when their work has ended. */
const inSlots = BackgroundJobs.layer({ handOver: "1 minute" })

/** The test application and a worker's services for messages between agents. */
export const layer = Layer.unwrapEffect(
  Effect.map(App.TestApp, ({ backendUrl, internalKey }) =>
    Layer.merge(A2aDelivery.Default, inSlots).pipe(
      Layer.provide(TurnBudgets.Default),
      Layer.provide(Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 })),
      Layer.provide(BackendChannelTurns.layer({ backendUrl, internalApiKey: Redacted.make(internalKey) }))
    )
  )
).pipe(Layer.provideMerge(App.layer({ skills: [...skillCatalog, sendingSkill] })))

/** Takes the entries that the owners' lanes admit. Places become free at delivery. */
export const takeMessages = Effect.gen(function* () {
  const outbox = yield* Outbox
  const entries: Array<OutboxEntry> = []
  yield* outbox.relay(100, (entry) => Effect.sync(() => entries.push(entry)))
  const [others, messages] = Array.partition(entries, ({ name }) => name === a2aMessageHandler.kind.name)
  yield* Effect.forEach(others, ({ id }) => outbox.settle(id), { discard: true })
  return messages
})

const handle = (entry: OutboxEntry) => {
  const run = a2aMessageHandler.handle({ ...entry, attempt: 1, isLastAttempt: false })
  const handled = Effect.zipRight(
    run,
    Effect.flatMap(Outbox, ({ settle }) => settle(entry.id))
  )
  return entry.trace === null ? handled : Effect.withParentSpan(handled, Tracer.externalSpan(entry.trace))
}

/** Delivers the waiting messages; returns their entries, which a test can deliver again. */
export const deliverMessages = Effect.tap(takeMessages, (entries) =>
  Effect.forEach(entries, handle, { concurrency: 4, discard: true })
)

/** Delivers messages, including those that agents send in the meantime, until the effect ends. */
export const whileDelivering = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { awaitAppended } = yield* Outbox
      const deliver = Effect.flatMap(
        takeMessages,
        Effect.forEach((entry) => Effect.forkScoped(handle(entry)))
      )
      yield* Effect.forkScoped(Effect.forever(Effect.zipRight(deliver, awaitAppended)))
      return yield* work
    })
  )
