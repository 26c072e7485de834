import * as AccountsServices from "@berth/domain/accounts/AccountsServices"
import { AnswerChatJob } from "@berth/domain/channels/ChannelJobs"
import * as ChannelsServices from "@berth/domain/channels/ChannelsServices"
import { ChannelReaders } from "@berth/domain/channels/ChannelReaders"
import { ChannelRecovery } from "@berth/domain/channels/ChannelRecovery"
import { ChatAnswers } from "@berth/domain/channels/ChatAnswers"
import { Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import { Credits } from "@berth/domain/shared/Money"
import * as BackendChannelTurns from "@berth/infra/backend/BackendChannelTurns"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import { channelCheckHandler } from "@berth/worker/jobs/JobHandlers"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { makeFakeTelegram, type FakeTelegram as Fake } from "../fakes/channels/FakeTelegram.ts"
import * as App from "./TestApp.ts"

export class FakeTelegram extends Context.Tag("@berth/test/FakeTelegram")<FakeTelegram, Fake>() {}

/** A worker's services for channel jobs, over the application's backend. */
const worker = Layer.unwrapEffect(
  Effect.map(App.TestApp, ({ appUrl, backendUrl, internalKey }) =>
    Layer.mergeAll(ChannelReaders.Default, ChannelRecovery.Default).pipe(
      Layer.provideMerge(ChannelsServices.channelJobs),
      Layer.provide(AccountsServices.users),
      Layer.provide(AccountsWiring.layer({ referralCredits: Credits(0), appUrl, verifiedEmailsOnly: false })),
      Layer.provide(BackendChannelTurns.layer({ backendUrl, internalApiKey: Redacted.make(internalKey) }))
    )
  )
)

/** The application, a bot of platformA, and a worker that runs its jobs on request. */
export const layer = (options: App.TestAppOptions = {}) =>
  Layer.unwrapScoped(
    Effect.map(makeFakeTelegram, (fake) =>
      worker.pipe(
        Layer.provideMerge(App.layer({ ...options, platformAUrl: fake.url })),
        Layer.merge(Layer.succeed(FakeTelegram, fake))
      )
    )
  )

/** Runs the waiting channel jobs, at most four at a time, until none remains; returns their number. */
export const runChannelJobs = Effect.gen(function* () {
  const outbox = yield* Outbox
  let done = 0
  const run = (entry: OutboxEntry) =>
    Effect.gen(function* () {
      const job = { ...entry, attempt: 1, isLastAttempt: false }
      if (entry.name === channelCheckHandler.kind.name) yield* channelCheckHandler.handle(job)
      else if (entry.name === AnswerChatJob.name)
        yield* (yield* ChatAnswers).run(yield* Effect.orDie(Schema.decodeUnknown(AnswerChatJob.payload)(entry.payload)))
      else return yield* outbox.settle(entry.id)
      done += 1
      yield* outbox.settle(entry.id)
    })
  yield* Effect.repeat(
    Effect.gen(function* () {
      const entries: Array<OutboxEntry> = []
      yield* outbox.relay(100, (entry) => Effect.sync(() => entries.push(entry)))
      yield* Effect.forEach(entries, run, { concurrency: 4, discard: true })
      return entries.length
    }),
    { until: (relayed) => relayed === 0 }
  )
  return done
})
