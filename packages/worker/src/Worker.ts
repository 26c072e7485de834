import { AccountRemoval } from "@berth/domain/accounts/AccountRemoval"
import { CardCustomers } from "@berth/domain/billing/CardCustomers"
import { Purchases } from "@berth/domain/billing/Purchases"
import { PasswordResetMails } from "@berth/domain/accounts/PasswordResetMails"
import { Post } from "@berth/domain/mail/Post"
import { Layer } from "effect"
import * as ExpiredMailedTokens from "./accounts/ExpiredMailedTokens.ts"
import * as LedgerChecks from "./billing/LedgerChecks.ts"
import * as CardEventCare from "./billing/CardEventCare.ts"
import * as CardEventUseCases from "./billing/CardEventUseCases.ts"
import * as UnheardCharges from "./billing/UnheardCharges.ts"
import * as OldPayments from "./gateway/OldPayments.ts"
import * as AbandonedTurns from "./interaction/AbandonedTurns.ts"
import * as ExpiredAnswerEvents from "./interaction/ExpiredAnswerEvents.ts"
import * as Consumers from "./jobs/Consumers.ts"
import * as OutboxRelay from "./jobs/OutboxRelay.ts"
import * as StuckAgents from "./jobs/StuckAgents.ts"
import * as ExpiredIdempotencyKeys from "./limits/ExpiredIdempotencyKeys.ts"
import * as ExpiredSessions from "./sessions/ExpiredSessions.ts"
import * as UsedOAuthStates from "./signin/UsedOAuthStates.ts"
import * as UsedWalletNonces from "./signin/UsedWalletNonces.ts"

/** Everything a worker does, over the domain's ports: the jobs, and what has to be looked after now and again. */
export const layer = (options: Consumers.ConsumerOptions & ExpiredAnswerEvents.RetentionOptions) =>
  Layer.mergeAll(
    Layer.provide(Consumers.layer(options), AccountRemoval.Default),
    OutboxRelay.layer,
    StuckAgents.layer,
    AbandonedTurns.layer,
    ExpiredAnswerEvents.layer(options),
    ExpiredMailedTokens.layer,
    ExpiredSessions.layer,
    UsedWalletNonces.layer,
    UsedOAuthStates.layer,
    CardEventCare.layer,
    OldPayments.layer,
    LedgerChecks.layer,
    UnheardCharges.layer.pipe(Layer.provide(Purchases.Default), Layer.provide(CardCustomers.Default)),
    ExpiredIdempotencyKeys.layer
  ).pipe(Layer.provide(CardEventUseCases.layer), Layer.provide(PasswordResetMails.Default), Layer.provide(Post.Default))
