import * as AccountsServices from "@berth/domain/accounts/AccountsServices"
import * as AgentsServices from "@berth/domain/agents/AgentsServices"
import * as BillingServices from "@berth/domain/billing/BillingServices"
import * as ChannelsServices from "@berth/domain/channels/ChannelsServices"
import * as InteractionServices from "@berth/domain/interaction/InteractionServices"
import { MailOutbox } from "@berth/domain/mail/MailOutbox"
import * as SchedulesServices from "@berth/domain/schedules/SchedulesServices"
import * as RecoveryServices from "@berth/domain/recovery/RecoveryServices"
import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { TurnBudgets } from "@berth/domain/interaction/turns/TurnBudgets"
import { WebhookDispatch } from "@berth/domain/webhooks/WebhookDispatch"
import * as VerificationServices from "@berth/domain/verification/VerificationServices"
import { Layer } from "effect"
import * as LedgerAuditSchedule from "./billing/LedgerAuditSchedule.ts"
import * as AbandonedTurnRecovery from "./interaction/AbandonedTurnRecovery.ts"
import * as BackgroundJobs from "./jobs/BackgroundJobs.ts"
import * as JobConsumers from "./jobs/JobConsumers.ts"
import * as OutageRecovery from "./jobs/OutageRecovery.ts"
import * as OutboxRelay from "./jobs/OutboxRelay.ts"
import * as RetentionJobs from "./jobs/RetentionJobs.ts"
import * as PushNotificationDelivery from "./a2a/PushNotificationDelivery.ts"
import * as RecurringTasks from "./RecurringTasks.ts"
import * as ScheduleTasks from "./schedules/ScheduleTasks.ts"
import * as WebhookDeliveryLoop from "./webhooks/WebhookDeliveryLoop.ts"
import * as StuckAgentRecovery from "./instances/StuckAgentRecovery.ts"

/** Services shared by several jobs. */
export const jobServices = Layer.mergeAll(
  AgentsServices.agentJobs,
  BillingServices.balances,
  AccountsServices.users,
  MailOutbox.Default
)

/** Job handlers, outbox relay and recurring tasks, over the domain's ports. */
export const layer = (options: JobConsumers.JobConsumerOptions & RetentionJobs.RetentionOptions) =>
  Layer.mergeAll(
    Layer.provide(JobConsumers.layer(options), BackgroundJobs.layer()),
    OutboxRelay.layer,
    OutageRecovery.layer,
    RetentionJobs.layer(options),
    LedgerAuditSchedule.layer,
    StuckAgentRecovery.layer,
    AbandonedTurnRecovery.layer,
    RecurringTasks.layer,
    ScheduleTasks.layer,
    PushNotificationDelivery.layer,
    Layer.provide(WebhookDeliveryLoop.layer, WebhookDispatch.Default)
  ).pipe(
    Layer.provide(
      Layer.mergeAll(
        InteractionServices.interactionJobs,
        BillingServices.billingJobs,
        RecoveryServices.recoveryJobs,
        ChannelsServices.channelJobs,
        Layer.provide(A2aDelivery.Default, TurnBudgets.Default),
        SchedulesServices.scheduleJobs,
        VerificationServices.verificationJobs
      )
    ),
    Layer.provide(jobServices)
  )
