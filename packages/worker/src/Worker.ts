import { AgentConfigReset } from "@berth/domain/agents/AgentConfigReset"
import { ClaimedContents } from "@berth/domain/interaction/ClaimedContents"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { CardCustomers } from "@berth/domain/billing/checkout/CardCustomers"
import * as AgentLimits from "@berth/domain/agents/AgentLimits"
import { SavedCardCharges } from "@berth/domain/billing/checkout/SavedCardCharges"
import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { PlanChanges } from "@berth/domain/billing/events/PlanChanges"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { MailedTokens } from "@berth/domain/accounts/mailed-tokens/MailedTokens"
import { Users } from "@berth/domain/accounts/Users"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { MailOutbox } from "@berth/domain/mail/MailOutbox"
import { Layer } from "effect"
import * as BillingRecovery from "./billing/BillingRecovery.ts"
import * as LedgerAuditSchedule from "./billing/LedgerAuditSchedule.ts"
import * as AbandonedTurnRecovery from "./interaction/AbandonedTurnRecovery.ts"
import * as JobConsumers from "./jobs/JobConsumers.ts"
import * as OutageRecovery from "./jobs/OutageRecovery.ts"
import * as OutboxRelay from "./jobs/OutboxRelay.ts"
import * as RetentionJobs from "./jobs/RetentionJobs.ts"
import * as StuckAgentRecovery from "./instances/StuckAgentRecovery.ts"

/** Applies events of the card processor. */
export const cardEvents = CardEventEffects.Default.pipe(
  Layer.provide(PlanChanges.Default),
  Layer.provide(Layer.mergeAll(Users.Default, Allowances.Default, AgentLimits.layer, MailOutbox.Default))
)

/** Prompts and memory of claimed accounts. */
const claimedContents = Layer.provide(ClaimedContents.Default, Layer.merge(AgentConfigReset.Default, Memories.Default))

/** The job handlers, the outbox relay and the recurring tasks, over the domain's ports. */
export const layer = (options: JobConsumers.JobConsumerOptions & RetentionJobs.RetentionOptions) =>
  Layer.mergeAll(
    Layer.provide(JobConsumers.layer(options), Layer.merge(AccountRemoval.Default, claimedContents)),
    OutboxRelay.layer,
    OutageRecovery.layer,
    RetentionJobs.layer(options),
    BillingRecovery.layer,
    LedgerAuditSchedule.layer,
    StuckAgentRecovery.layer,
    AbandonedTurnRecovery.layer
  ).pipe(
    Layer.provide(SavedCardCharges.Default),
    Layer.provide(CardCustomers.Default),
    Layer.provide(cardEvents),
    Layer.provide(PasswordResetMails.Default),
    Layer.provide(Layer.mergeAll(MailedTokens.Default, MailOutbox.Default)),
    Layer.provide(Users.Default)
  )
