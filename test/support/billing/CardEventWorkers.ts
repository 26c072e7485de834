import * as BillingServices from "@berth/domain/billing/BillingServices"
import { BillingSettings } from "@berth/domain/billing/BillingSettings"
import { PurchasedItem } from "@berth/domain/billing/events/PurchasedItem"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ApplyCardEventJob, type CardEvent } from "@berth/domain/billing/events/CardEvent"
import { CardEventRepository } from "@berth/domain/billing/events/CardEventRepository"
import { Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import * as Worker from "@berth/worker/Worker"
import { Context, Effect, Layer, type Redacted, Schema } from "effect"
import { EmailAddressConfirmedJob } from "@berth/domain/accounts/AccountJobs"
import { Credits } from "@berth/domain/shared/Money"
import { testStorage } from "../TestStorage.ts"

const storageOf = (databaseUrl: Redacted.Redacted) =>
  testStorage(databaseUrl, { maxConnections: 4, applicationName: "card worker", adminEmails: ["admin@example.com"] })

const rules = (verifiedEmailsOnly: boolean) =>
  AccountsWiring.layer({
    referralCredits: Credits(1),
    appUrl: new URL("https://berth.example"),
    verifiedEmailsOnly
  })

/** Prices of the operator. */
const settings = Layer.succeed(BillingSettings, {
  prices: new Map([["price_label", PurchasedItem.Plan({ plan: "label" })]]),
  hasCardProcessor: true,
  offersPlansWithoutPayment: false
})

interface CardEventWorkerOptions {
  readonly verifiedEmailsOnly?: boolean
  /** The connection between worker and database. */
  readonly events?: Layer.Layer<CardEventRepository, never, CardEventRepository>
}

/** The part of a worker that applies card events, over its own pool. */
export const makeCardEventWorker = (
  databaseUrl: Redacted.Redacted,
  {
    events = Layer.effect(CardEventRepository, CardEventRepository),
    verifiedEmailsOnly = false
  }: CardEventWorkerOptions = {}
) =>
  Layer.build(
    Layer.fresh(
      BillingServices.cardEvents.pipe(
        Layer.provide(Worker.jobServices),
        Layer.provide(events),
        Layer.provideMerge(storageOf(databaseUrl)),
        Layer.provide(Layer.merge(rules(verifiedEmailsOnly), settings)),
        Layer.orDie
      )
    )
  )
export type CardEventWorker = Effect.Effect.Success<ReturnType<typeof makeCardEventWorker>>

/** Stores each event once with its job, as the inbox does. */
export const storeCardEvents = (events: ReadonlyArray<CardEvent>) =>
  Effect.gen(function* () {
    const { insert } = yield* CardEventRepository
    const { append } = yield* Outbox
    const { run } = yield* Transaction
    yield* Effect.forEach(
      events,
      (event) =>
        run(
          Effect.if(insert(event), {
            onTrue: () => append(ApplyCardEventJob, { eventId: event.id }),
            onFalse: () => Effect.void
          })
        ),
      { discard: true }
    )
  })

const isAboutCards = ({ name }: OutboxEntry) =>
  name === ApplyCardEventJob.name || name === EmailAddressConfirmedJob.name

const carryOut = ({ name, payload }: OutboxEntry) =>
  Effect.flatMap(CardEventEffects, (effects) =>
    name === ApplyCardEventJob.name
      ? Effect.flatMap(Schema.decodeUnknown(ApplyCardEventJob.payload)(payload), ({ eventId }) =>
          effects.apply(eventId)
        )
      : Effect.flatMap(Schema.decodeUnknown(EmailAddressConfirmedJob.payload)(payload), ({ userId }) =>
          effects.matchUser(userId)
        )
  )

/**
 * Runs all card jobs until none remains, each twice and concurrently by all workers, as an at-least-once queue may.
 * Returns the jobs of other kinds that resulted.
 */
export const processCardJobs = (workers: readonly [CardEventWorker, ...ReadonlyArray<CardEventWorker>]) =>
  Effect.gen(function* () {
    const [first] = workers
    const { relay, settle } = Context.get(first, Outbox)
    const others: Array<OutboxEntry> = []
    const round = Effect.gen(function* () {
      const taken: Array<OutboxEntry> = []
      yield* relay(100, (entry) => Effect.sync(() => taken.push(entry)))
      yield* Effect.forEach(taken, ({ id }) => settle(id), { discard: true })
      others.push(...taken.filter((entry) => !isAboutCards(entry)))
      const cardEntries = taken.filter(isAboutCards)
      yield* Effect.forEach(
        [...cardEntries, ...cardEntries],
        (entry, index) => Effect.provide(carryOut(entry), workers[index % workers.length] ?? first),
        { concurrency: 8, discard: true }
      )
      return taken.length
    })
    yield* Effect.repeat(round, { until: (count) => count === 0 })
    return others
  })
