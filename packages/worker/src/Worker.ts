import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { CardCustomers } from "@berth/domain/billing/checkout/CardCustomers"
import { Purchases } from "@berth/domain/billing/checkout/Purchases"
import { MailedTokens } from "@berth/domain/accounts/mailed-tokens/MailedTokens"
import { Users } from "@berth/domain/accounts/Users"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import { MailOutbox } from "@berth/domain/mail/MailOutbox"
import { Layer } from "effect"
import * as MailedTokenRetention from "./accounts/MailedTokenRetention.ts"
import * as LedgerAuditSchedule from "./billing/LedgerAuditSchedule.ts"
import * as CardEventMaintenance from "./billing/CardEventMaintenance.ts"
import * as CardEventUseCases from "./billing/CardEventUseCases.ts"
import * as PurchaseAttemptMaintenance from "./billing/PurchaseAttemptMaintenance.ts"
import * as PaymentRedemptionRetention from "./gateway/PaymentRedemptionRetention.ts"
import * as AbandonedTurnRecovery from "./interaction/AbandonedTurnRecovery.ts"
import * as AnswerEventRetention from "./interaction/AnswerEventRetention.ts"
import * as JobConsumers from "./jobs/JobConsumers.ts"
import * as OutboxRelay from "./jobs/OutboxRelay.ts"
import * as StuckAgentRecovery from "./agents/StuckAgentRecovery.ts"
import * as IdempotencyKeyRetention from "./limits/IdempotencyKeyRetention.ts"
import * as SessionRetention from "./sessions/SessionRetention.ts"
import * as OAuthStateRetention from "./signin/OAuthStateRetention.ts"
import * as WalletNonceRetention from "./signin/WalletNonceRetention.ts"

/** Everything a worker does, over the domain's ports: the jobs, and what has to be looked after now and again. */
export const layer = (options: JobConsumers.JobConsumerOptions & AnswerEventRetention.AnswerEventRetentionOptions) =>
  Layer.mergeAll(
    Layer.provide(JobConsumers.layer(options), AccountRemoval.Default),
    OutboxRelay.layer,
    StuckAgentRecovery.layer,
    AbandonedTurnRecovery.layer,
    AnswerEventRetention.layer(options),
    MailedTokenRetention.layer,
    SessionRetention.layer,
    WalletNonceRetention.layer,
    OAuthStateRetention.layer,
    CardEventMaintenance.layer,
    PaymentRedemptionRetention.layer,
    LedgerAuditSchedule.layer,
    PurchaseAttemptMaintenance.layer.pipe(Layer.provide(Purchases.Default), Layer.provide(CardCustomers.Default)),
    IdempotencyKeyRetention.layer
  ).pipe(
    Layer.provide(CardEventUseCases.layer),
    Layer.provide(PasswordResetMails.Default),
    Layer.provide(Layer.mergeAll(MailedTokens.Default, MailOutbox.Default)),
    Layer.provide(Users.Default)
  )
