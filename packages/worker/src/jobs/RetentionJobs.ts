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

const ago = (age: Duration.DurationInput) => Effect.map(DateTime.now, DateTime.subtractDuration(age))

const removeOlder = <R>(repository: Effect.Effect<AgingRows, never, R>, age: Duration.DurationInput) =>
  Effect.flatMap(Effect.all([repository, ago(age)]), ([{ prune }, before]) => prune(before))

type PrunedRows = { readonly prune: Effect.Effect<number> }

const prune = <R>(repository: Effect.Effect<PrunedRows, never, R>) => Effect.flatMap(repository, ({ prune }) => prune)

const hourly = <R>(name: string, remove: Effect.Effect<number, never, R>) => retention(name, "1 hour", remove)

/** Expiring rows of all contexts. */
export const layer = ({ modelUsageRetention, reservationRetention, streamRetention }: RetentionOptions) =>
  Layer.scopedDiscard(
    Effect.all(
      [
        hourly("mailed tokens", removeExpired(MailedTokenRepository)),
        hourly("sessions", removeExpired(SessionRepository)),
        hourly("OAuth states", removeExpired(OAuthStateRepository)),
        hourly("wallet nonces", removeExpired(WalletNonceRepository)),
        hourly("verification challenges", removeExpired(VerificationChallengeRepository)),
        hourly("idempotency keys", prune(IdempotencyKeys)),
        hourly("payment redemptions", prune(PaymentRedemptions)),
        hourly(
          "card events",
          Effect.flatMap(CardEventEffects, ({ runRetention }) => runRetention)
        ),
        hourly("purchase attempts", prune(SavedCardCharges)),
        hourly("reservations", removeOlder(ReservationRepository, reservationRetention)),
        hourly("model usage", removeOlder(ModelUsage, modelUsageRetention)),
        hourly(
          "messages of channels",
          Effect.flatMap(
            Effect.all([Chats, ago(channelMessageRetention), ago(idleChatRetention)]),
            ([{ prune }, messages, chats]) => prune({ messages, chats })
          )
        ),
        hourly(
          "runs of agents",
          Effect.flatMap(Effect.all([AgentRunRepository, ago(agentRunRetention)]), ([{ prune }, before]) =>
            prune(before, agentRunsKept)
          )
        ),
        hourly(
          "payments of agents",
          Effect.flatMap(
            Effect.all([WalletPaymentRepository, ago(confirmedPaymentRetention), ago(unpaidPaymentRetention)]),
            ([{ prune }, confirmed, unpaid]) => prune({ confirmed, unpaid })
          )
        ),
        hourly(
          "responses of models",
          Effect.flatMap(Effect.all([StoredResponses, ago(responseRetention)]), ([{ prune }, before]) =>
            prune(before, maximumBytesOfOwner)
          )
        ),
        hourly("unsent attachments", removeOlder(AttachmentRepository, unsentAttachmentRetention)),
        hourly("messages between agents", removeOlder(A2aRepository, a2aRetention)),
        hourly("tasks of agents", removeOlder(A2aTaskRepository, taskRetention)),
        hourly("events", removeOlder(WebhookDeliveryRepository, eventRetention)),
        hourly("agents' log entries", removeOlder(AgentLog, agentLogRetention)),
        retention("outbox entries", "10 minutes", prune(Outbox)),
        retention("answer events", "30 seconds", removeOlder(AnswerStreams, streamRetention))
      ],
      { discard: true }
    )
  )
