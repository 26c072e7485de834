import { StoredResponses } from "@berth/domain/gateway/responses/StoredResponses"
import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import { ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { SavedCardCharges } from "@berth/domain/billing/checkout/SavedCardCharges"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ReservationRepository } from "@berth/domain/billing/units/ReservationRepository"
import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import { AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { AttachmentRepository } from "@berth/domain/interaction/attachments/AttachmentRepository"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { IdempotencyKeys } from "@berth/domain/limits/IdempotencyKeys"
import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import { AgentRunRepository } from "@berth/domain/schedules/runs/AgentRunRepository"
import { OAuthStateRepository } from "@berth/domain/signin/oauth/OAuthStateRepository"
import { WalletNonceRepository } from "@berth/domain/signin/wallets/WalletNonceRepository"
import { VerificationChallengeRepository } from "@berth/domain/verification/VerificationChallengeRepository"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Chats } from "@berth/domain/channels/Chats"
import { AgentLog } from "@berth/domain/instances/AgentLog"
import { DateTime, Duration, Effect, HashMap, Layer, Logger, Option, Ref, TestClock, TestContext } from "effect"
import { WalletPaymentRepository } from "@berth/domain/wallets/payments/WalletPaymentRepository"
import { A2aRepository } from "@berth/domain/a2a/A2aRepository"
import { A2aTaskRepository } from "@berth/domain/a2a/tasks/A2aTaskRepository"
import { WebhookDeliveryRepository } from "@berth/domain/webhooks/WebhookDeliveryRepository"
import * as RetentionJobs from "../../src/jobs/RetentionJobs.ts"

const start = Duration.toMillis(Duration.minutes(10))

type Run = readonly [name: string, minute: number]
const countOf = (runs: ReadonlyArray<Run>, name: string) => runs.filter(([it]) => it === name).length

/** Runs all retentions for 150 minutes; returns the moments at which each deleted, in minutes, and the logged retentions. */
const runRetentions = Effect.gen(function* () {
  const runs = yield* Ref.make<ReadonlyArray<Run>>([])
  const logged: Array<unknown> = []
  const logger = Logger.make(({ annotations }) => {
    logged.push(Option.getOrNull(HashMap.get(annotations, "retention")))
  })
  const recordAt = (name: string, moment: DateTime.Utc, rows = 0) =>
    Effect.as(
      Ref.update(runs, (all) => [...all, [name, (DateTime.toEpochMillis(moment) - start) / 60_000] as const]),
      rows
    )
  const record = (name: string) => Effect.flatMap(DateTime.now, (now) => recordAt(name, now))
  const ports = Layer.mergeAll(
    Layer.mock(MailedTokenRepository, { removeExpired: (now) => recordAt("mailed tokens", now, 3) }),
    Layer.mock(SessionRepository, { removeExpired: (now) => recordAt("sessions", now) }),
    Layer.mock(OAuthStateRepository, { removeExpired: (now) => recordAt("OAuth states", now) }),
    Layer.mock(WalletNonceRepository, { removeExpired: (now) => recordAt("wallet nonces", now) }),
    Layer.mock(VerificationChallengeRepository, { removeExpired: (now) => recordAt("verification challenges", now) }),
    Layer.mock(IdempotencyKeys, { prune: record("idempotency keys") }),
    Layer.mock(PaymentRedemptions, { prune: record("payment redemptions") }),
    Layer.mock(CardEventEffects, { _tag: "@berth/CardEventEffects", runRetention: record("card events") }),
    Layer.mock(SavedCardCharges, { _tag: "@berth/SavedCardCharges", prune: record("purchase attempts") }),
    Layer.mock(ReservationRepository, { prune: (before) => recordAt("reservations", before) }),
    Layer.mock(ModelUsage, { prune: (before) => recordAt("model usage", before) }),
    Layer.mock(Outbox, { append: () => Effect.void, prune: record("outbox entries") }),
    Layer.mock(Chats, { prune: ({ messages }) => recordAt("messages of channels", messages) }),
    Layer.mock(AgentRunRepository, {
      prune: (before) => recordAt("runs of agents", before),
      failLost: Effect.succeed(0)
    }),
    Layer.mock(WalletPaymentRepository, {
      prune: ({ confirmed, unpaid }) =>
        Effect.zipRight(recordAt("confirmed payments", confirmed), recordAt("unpaid payments", unpaid))
    }),
    Layer.mock(AgentLog, { prune: (before) => recordAt("agents' log entries", before) }),
    Layer.mock(A2aRepository, { prune: (before) => recordAt("messages between agents", before) }),
    Layer.mock(A2aTaskRepository, { prune: (before) => recordAt("tasks of agents", before) }),
    Layer.mock(WebhookDeliveryRepository, { prune: (before) => recordAt("events", before) }),
    Layer.mock(StoredResponses, { prune: (before) => recordAt("responses of models", before) }),
    Layer.mock(AttachmentRepository, { prune: (before) => recordAt("unsent attachments", before) }),
    Layer.mock(AnswerStreams, {
      append: () => {},
      // Three runs suffice: the test clock takes some milliseconds of real time for each moment.
      prune: (before) =>
        Effect.tap(recordAt("answer events", before), () =>
          Effect.flatMap(runs, (all) => (countOf(all, "answer events") < 3 ? Effect.void : Effect.never))
        )
    })
  )
  yield* TestClock.setTime(start)
  yield* RetentionJobs.layer({
    streamRetention: Duration.minutes(5),
    reservationRetention: Duration.hours(48),
    modelUsageRetention: Duration.hours(24)
  }).pipe(Layer.provide(ports), Layer.provide(Logger.replace(Logger.defaultLogger, logger)), Layer.build)
  yield* TestClock.adjust("150 minutes")
  const all = yield* runs
  return { minutes: (name: string) => all.flatMap(([it, minute]) => (it === name ? [minute] : [])), logged }
})

/** One run for all tests. */
let ran: Effect.Effect.Success<typeof runRetentions> | undefined
const retentions = Effect.suspend(() => Effect.fromNullable(ran))

describe("RetentionJobs", () => {
  beforeAll(async () => {
    ran = await Effect.runPromise(runRetentions.pipe(Effect.scoped, Effect.provide(TestContext.TestContext)))
  }, 60_000)

  it.effect("RetentionJobs deletes expired rows at the start and every hour, as of that moment", () =>
    Effect.gen(function* () {
      const { minutes } = yield* retentions
      for (const name of [
        "mailed tokens",
        "sessions",
        "OAuth states",
        "wallet nonces",
        "verification challenges",
        "idempotency keys",
        "payment redemptions",
        "card events",
        "purchase attempts"
      ])
        assert.deepStrictEqual(minutes(name), [0, 60, 120], name)
    })
  )

  it.effect("RetentionJobs deletes reservations older than their retention every hour", () =>
    Effect.gen(function* () {
      const { minutes } = yield* retentions
      assert.deepStrictEqual(minutes("reservations"), [-48 * 60, -47 * 60, -46 * 60])
    })
  )

  it.effect("RetentionJobs deletes records of model calls older than their retention every hour", () =>
    Effect.gen(function* () {
      const { minutes } = yield* retentions
      assert.deepStrictEqual(minutes("model usage"), [-24 * 60, -23 * 60, -22 * 60])
    })
  )

  it.effect(
    "RetentionJobs deletes handled messages of channels after a week, and runs and agents' log entries after a month",
    () =>
      Effect.gen(function* () {
        const { minutes } = yield* retentions
        const day = 24 * 60
        assert.deepStrictEqual(minutes("messages of channels"), [-7 * day, -7 * day + 60, -7 * day + 120])
        for (const name of [
          "runs of agents",
          "agents' log entries",
          "events",
          "messages between agents",
          "unpaid payments"
        ])
          assert.deepStrictEqual(minutes(name), [-30 * day, -30 * day + 60, -30 * day + 120], name)
        assert.strictEqual(minutes("confirmed payments")[0], -400 * day)
      })
  )

  it.effect("RetentionJobs deletes published outbox entries every ten minutes", () =>
    Effect.gen(function* () {
      const { minutes } = yield* retentions
      assert.deepStrictEqual(minutes("outbox entries").slice(0, 4), [0, 10, 20, 30])
    })
  )

  it.effect("RetentionJobs deletes answer events older than the stream retention every 30 seconds", () =>
    Effect.gen(function* () {
      const { minutes } = yield* retentions
      assert.deepStrictEqual(minutes("answer events").slice(0, 3), [-5, -4.5, -4])
    })
  )

  it.effect("RetentionJobs logs only the retentions that deleted rows", () =>
    Effect.gen(function* () {
      const { logged } = yield* retentions
      assert.deepStrictEqual(logged, ["mailed tokens", "mailed tokens", "mailed tokens"])
    })
  )
})
