import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import { ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { SavedCardCharges } from "@berth/domain/billing/checkout/SavedCardCharges"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ReservationRepository } from "@berth/domain/billing/units/ReservationRepository"
import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import {
  maximumBytesOfOwner,
  responseRetention,
  StoredResponses
} from "@berth/domain/gateway/responses/StoredResponses"
import { channelMessageRetention, idleChatRetention } from "@berth/domain/channels/ChannelPolicy"
import { Chats } from "@berth/domain/channels/Chats"
import { AgentLog, agentLogRetention } from "@berth/domain/instances/AgentLog"
import { AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { unsentAttachmentRetention } from "@berth/domain/interaction/attachments/Attachment"
import { AttachmentRepository } from "@berth/domain/interaction/attachments/AttachmentRepository"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { IdempotencyKeys } from "@berth/domain/limits/IdempotencyKeys"
import { agentRunRetention, agentRunsKept } from "@berth/domain/schedules/runs/AgentRun"
import { AgentRunRepository } from "@berth/domain/schedules/runs/AgentRunRepository"
import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import { OAuthStateRepository } from "@berth/domain/signin/oauth/OAuthStateRepository"
import { WalletNonceRepository } from "@berth/domain/signin/wallets/WalletNonceRepository"
import { VerificationChallengeRepository } from "@berth/domain/verification/VerificationChallengeRepository"
import { a2aRetention } from "@berth/domain/a2a/A2aMessage"
import { A2aRepository } from "@berth/domain/a2a/A2aRepository"
import { taskRetention } from "@berth/domain/a2a/tasks/A2aTask"
import { A2aTaskRepository } from "@berth/domain/a2a/tasks/A2aTaskRepository"
import { eventRetention } from "@berth/domain/webhooks/WebhookDelivery"
import { WebhookDeliveryRepository } from "@berth/domain/webhooks/WebhookDeliveryRepository"
import { confirmedPaymentRetention, unpaidPaymentRetention } from "@berth/domain/wallets/payments/WalletPayment"
import { WalletPaymentRepository } from "@berth/domain/wallets/payments/WalletPaymentRepository"
import { DateTime, type Duration, Effect, Layer } from "effect"
import { runRecurringTask } from "./RecurringTask.ts"

export interface RetentionOptions {
  /** Time after its end during which the deltas of an answer can be replayed. */
  readonly streamRetention: Duration.Duration
  /** Age at which closed reservations are removed from the billing history. */
  readonly reservationRetention: Duration.Duration
  /** Age at which records of model calls are deleted. */
  readonly modelUsageRetention: Duration.Duration
}

/** Deletes rows with `remove`, which returns their number, at the start and at every interval. */
const retention = <R>(name: string, interval: Duration.DurationInput, remove: Effect.Effect<number, never, R>) =>
  runRecurringTask(
    `retention of ${name}`,
    interval,
    remove.pipe(
      Effect.tap((rows) =>
        rows > 0
          ? Effect.logInfo("Expired rows deleted").pipe(Effect.annotateLogs({ retention: name, rows }))
          : Effect.void
      ),
      Effect.withTracerEnabled(false)
    )
  )

type ExpiringRows = { readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number> }

const removeExpired = <R>(repository: Effect.Effect<ExpiringRows, never, R>) =>
  Effect.flatMap(Effect.all([repository, DateTime.now]), ([{ removeExpired }, now]) => removeExpired(now))

type AgingRows = { readonly prune: (before: DateTime.Utc) => Effect.Effect<number> }

const removeOlder = <R>(repository: Effect.Effect<AgingRows, never, R>, age: Duration.DurationInput) =>
  Effect.flatMap(Effect.all([repository, DateTime.now]), ([{ prune }, now]) =>
    prune(DateTime.subtractDuration(now, age))
  )

/** Expiring rows of all contexts. */
export const layer = ({ modelUsageRetention, reservationRetention, streamRetention }: RetentionOptions) =>
  Layer.scopedDiscard(
    Effect.all(
      [
        retention("mailed tokens", "1 hour", removeExpired(MailedTokenRepository)),
        retention("sessions", "1 hour", removeExpired(SessionRepository)),
        retention("OAuth states", "1 hour", removeExpired(OAuthStateRepository)),
        retention("wallet nonces", "1 hour", removeExpired(WalletNonceRepository)),
        retention("verification challenges", "1 hour", removeExpired(VerificationChallengeRepository)),
        retention(
          "idempotency keys",
          "1 hour",
          Effect.flatMap(IdempotencyKeys, ({ prune }) => prune)
        ),
        retention(
          "payment redemptions",
          "1 hour",
          Effect.flatMap(PaymentRedemptions, ({ prune }) => prune)
        ),
        retention(
          "card events",
          "1 hour",
          Effect.flatMap(CardEventEffects, ({ runRetention }) => runRetention)
        ),
        retention(
          "purchase attempts",
          "1 hour",
          Effect.flatMap(SavedCardCharges, ({ prune }) => prune)
        ),
        retention("reservations", "1 hour", removeOlder(ReservationRepository, reservationRetention)),
        retention("model usage", "1 hour", removeOlder(ModelUsage, modelUsageRetention)),
        retention(
          "messages of channels",
          "1 hour",
          Effect.flatMap(Effect.all([Chats, DateTime.now]), ([chats, now]) =>
            chats.prune({
              messages: DateTime.subtractDuration(now, channelMessageRetention),
              chats: DateTime.subtractDuration(now, idleChatRetention)
            })
          )
        ),
        retention(
          "runs of agents",
          "1 hour",
          Effect.flatMap(Effect.all([AgentRunRepository, DateTime.now]), ([runs, now]) =>
            runs.prune(DateTime.subtractDuration(now, agentRunRetention), agentRunsKept)
          )
        ),
        retention(
          "payments of agents",
          "1 hour",
          Effect.flatMap(Effect.all([WalletPaymentRepository, DateTime.now]), ([payments, now]) =>
            payments.prune({
              confirmed: DateTime.subtractDuration(now, confirmedPaymentRetention),
              unpaid: DateTime.subtractDuration(now, unpaidPaymentRetention)
            })
          )
        ),
        retention(
          "responses of models",
          "1 hour",
          Effect.flatMap(Effect.all([StoredResponses, DateTime.now]), ([responses, now]) =>
            responses.prune(DateTime.subtractDuration(now, responseRetention), maximumBytesOfOwner)
          )
        ),
        retention("unsent attachments", "1 hour", removeOlder(AttachmentRepository, unsentAttachmentRetention)),
        retention("messages between agents", "1 hour", removeOlder(A2aRepository, a2aRetention)),
        retention("tasks of agents", "1 hour", removeOlder(A2aTaskRepository, taskRetention)),
        retention("events", "1 hour", removeOlder(WebhookDeliveryRepository, eventRetention)),
        retention("agents' log entries", "1 hour", removeOlder(AgentLog, agentLogRetention)),
        retention(
          "outbox entries",
          "10 minutes",
          Effect.flatMap(Outbox, ({ prune }) => prune)
        ),
        retention("answer events", "30 seconds", removeOlder(AnswerStreams, streamRetention))
      ],
      { discard: true }
    )
  )
