import * as AccountsServices from "@berth/domain/accounts/AccountsServices"
import { Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import { ScheduleTicks } from "@berth/domain/schedules/ScheduleTicks"
import * as SchedulesServices from "@berth/domain/schedules/SchedulesServices"
import * as BackendChannelTurns from "@berth/infra/backend/BackendChannelTurns"
import { scheduledTaskHandler, skillExecutionHandler } from "@berth/worker/jobs/JobHandlers"
import { Effect, Layer, Redacted } from "effect"
import * as BackgroundJobs from "@berth/worker/jobs/BackgroundJobs"
import * as App from "./TestApp.ts"

/** Handlers return when their work has ended. */
const inSlots = BackgroundJobs.layer({ handOver: "1 minute" })

/** The test application and a worker's services for schedules. */
export const layer = Layer.unwrapEffect(
  Effect.map(App.TestApp, ({ backendUrl, internalKey }) =>
    Layer.merge(SchedulesServices.scheduleJobs, inSlots).pipe(
      Layer.provide(AccountsServices.users),
      Layer.provide(BackendChannelTurns.layer({ backendUrl, internalApiKey: Redacted.make(internalKey) }))
    )
  )
).pipe(Layer.provideMerge(App.layer()))

const handlers = [scheduledTaskHandler, skillExecutionHandler]

/** Runs a published job of a schedule or a skill; ignores other jobs. */
export const runJob = (entry: OutboxEntry, isLastAttempt = false) =>
  Effect.forEach(
    handlers.filter(({ kind }) => kind.name === entry.name),
    (handler) =>
      // The worker is already running the job.
      Effect.catchTag(handler.handle({ ...entry, attempt: 1, isLastAttempt }), "JobPostponed", () => Effect.void),
    { discard: true }
  )

/** Takes the waiting entries of schedules and skills from the outbox. */
export const relayJobs = Effect.gen(function* () {
  const outbox = yield* Outbox
  const entries: Array<OutboxEntry> = []
  const take = (entry: OutboxEntry) => Effect.sync(() => entries.push(entry))
  const round = Effect.tap(outbox.relay(100, take), () =>
    Effect.forEach(entries, ({ id }) => outbox.settle(id), { discard: true })
  )
  yield* Effect.repeat(round, { until: (relayed) => relayed === 0 })
  return entries.filter(({ name }) => handlers.some(({ kind }) => kind.name === name))
})

/** Decides due schedules and runs all jobs. */
export const runSchedules = Effect.gen(function* () {
  const { fire } = yield* ScheduleTicks
  yield* Effect.repeat(fire, { while: (hasMore) => hasMore })
  const entries = yield* relayJobs
  yield* Effect.forEach(entries, (entry) => runJob(entry), { concurrency: 4, discard: true })
  return entries.length
})
