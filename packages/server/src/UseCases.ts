import { AccountDeletion, AccountDeletionHooks } from "@berth/domain/recovery/deletion/AccountDeletion"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { AccessNotices } from "@berth/domain/accounts/access-notices/AccessNotices"
import { EmailChanges } from "@berth/domain/accounts/email-change/EmailChanges"
import { MailedTokens } from "@berth/domain/accounts/mailed-tokens/MailedTokens"
import { ProfileSettings } from "@berth/domain/accounts/profile/ProfileSettings"
import { Registration } from "@berth/domain/accounts/registration/Registration"
import { PasswordCredentials } from "@berth/domain/accounts/password/PasswordCredentials"
import { EmailVerifications } from "@berth/domain/accounts/email-verification/EmailVerifications"
import { ExternalAccounts } from "@berth/domain/accounts/registration/ExternalAccounts"
import { PasswordResets } from "@berth/domain/recovery/password-reset/PasswordResets"
import { Referrals } from "@berth/domain/accounts/referrals/Referrals"
import { Users } from "@berth/domain/accounts/Users"
import { Wallets } from "@berth/domain/signin/wallets/Wallets"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import { Agents } from "@berth/domain/agents/Agents"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { ContextWindows } from "@berth/domain/ai/ContextWindows"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { CardEventInbox } from "@berth/domain/billing/events/CardEventInbox"
import { CardCustomers } from "@berth/domain/billing/checkout/CardCustomers"
import { BillingActions } from "@berth/domain/billing/BillingActions"
import { CheckoutLinks } from "@berth/domain/billing/checkout/CheckoutLinks"
import { Checkouts } from "@berth/domain/billing/checkout/Checkouts"
import { SavedCardCharges } from "@berth/domain/billing/checkout/SavedCardCharges"
import { InstanceContents } from "@berth/domain/instances/InstanceContents"
import { TokenGate } from "@berth/domain/gating/TokenGate"
import { InstanceReconciler } from "@berth/domain/instances/InstanceReconciler"
import { GatewayTokenAccess } from "@berth/domain/instances/GatewayTokenAccess"
import * as AgentTasksLive from "@berth/domain/gateway/tasks/AgentTaskRunner"
import { Gateway } from "@berth/domain/gateway/Gateway"
import { CallQuotes } from "@berth/domain/gateway/calls/CallQuotes"
import { CardCalls } from "@berth/domain/gateway/calls/CardCalls"
import * as LocalModelAnswers from "@berth/domain/gateway/plugins/LocalModelAnswers"
import * as QuotedOwnKeyCoverage from "@berth/domain/gateway/plugins/QuotedOwnKeyCoverage"
import { MachineCalls } from "@berth/domain/gateway/calls/MachineCalls"
import { MachinePayments } from "@berth/domain/gateway/payments/MachinePayments"
import { PaymentSettlement } from "@berth/domain/gateway/payments/PaymentSettlement"
import { Plugins } from "@berth/domain/gateway/Plugins"
import { Instances } from "@berth/domain/instances/Instances"
import { OrphanCleanup } from "@berth/domain/instances/OrphanCleanup"
import { ConversationRemoval } from "@berth/domain/instances/ConversationRemoval"
import * as ManagedAgentInstances from "@berth/domain/instances/ManagedAgentInstances"
import * as LocalAgentManager from "@berth/domain/instances/LocalAgentManager"
import { DeadLetters } from "@berth/domain/jobs/DeadLetters"
import { AgentHealth } from "@berth/domain/interaction/health/AgentHealth"
import { ConversationRecords } from "@berth/domain/interaction/conversations/ConversationRecords"
import { ResumedAnswers } from "@berth/domain/interaction/answers/ResumedAnswers"
import { ChatSessions } from "@berth/domain/interaction/conversations/ChatSessions"
import { ConversationTurns } from "@berth/domain/interaction/conversations/ConversationTurns"
import { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import { TurnModelCalls } from "@berth/domain/interaction/turns/TurnModelCalls"
import { TaskTurns } from "@berth/domain/interaction/turns/TaskTurns"
import { TurnSettlement } from "@berth/domain/interaction/turns/TurnSettlement"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { MailOutbox } from "@berth/domain/mail/MailOutbox"
import { CredentialVault } from "@berth/domain/secrets/CredentialVault"
import { OwnModelKeys } from "@berth/domain/secrets/OwnModelKeys"
import * as OwnerKeysFromVault from "@berth/domain/ai/keys/VaultOwnerKeys"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { ClaimNotices } from "@berth/domain/recovery/claims/ClaimNotices"
import { EmailChangeUndo } from "@berth/domain/recovery/email-change/EmailChangeUndo"
import { AccountClaims } from "@berth/domain/recovery/claims/AccountClaims"
import { PasswordSignIn } from "@berth/domain/signin/password/PasswordSignIn"
import { LinkedAccounts } from "@berth/domain/signin/identities/LinkedAccounts"
import { LinkedIdentities } from "@berth/domain/signin/identities/LinkedIdentities"
import { OAuthSignIn } from "@berth/domain/signin/oauth/OAuthSignIn"
import { OAuthTickets } from "@berth/domain/signin/oauth/OAuthTickets"
import { SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import { SocialSignIn } from "@berth/domain/signin/social/SocialSignIn"
import { WalletLinking } from "@berth/domain/signin/wallets/WalletLinking"
import { WalletNonces } from "@berth/domain/signin/wallets/WalletNonces"
import { WalletProofs } from "@berth/domain/signin/wallets/WalletProofs"
import { WalletSignIn } from "@berth/domain/signin/wallets/WalletSignIn"
import { Effect, Layer } from "effect"
import * as AccessMethodList from "./AccessMethodList.ts"

/*
 * The use cases of each listener, over ports that the program or a test provides.
 */

/** Use cases of both listeners. */
export const shared = Layer.mergeAll(SocialSessions.Default, Allowances.Default, Memories.Default).pipe(
  Layer.provideMerge(Sessions.Default)
)

/** Identities at providers, password reset and access methods. */
const proofs = Layer.mergeAll(
  OAuthSignIn.Default,
  SocialSignIn.Default,
  PasswordResets.Default,
  EmailChangeUndo.Default
).pipe(
  Layer.provide(LinkedAccounts.Default),
  Layer.provide(AccountClaims.Default),
  Layer.provide(Layer.provide(AccessMethodList.layer, CredentialVault.Default)),
  Layer.provide(OAuthTickets.Default)
)

/** Wallet sign-in and linked wallets. */
const wallets = Layer.merge(WalletSignIn.Default, WalletLinking.Default).pipe(
  Layer.provideMerge(Layer.merge(WalletProofs.Default, Wallets.Default)),
  Layer.provideMerge(WalletNonces.Default)
)

/** Accounts and their mails. */
const accounts = Layer.merge(Registration.Default, ProfileSettings.Default).pipe(
  Layer.provideMerge(Layer.mergeAll(EmailVerifications.Default, EmailChanges.Default, ExternalAccounts.Default)),
  Layer.provideMerge(Referrals.Default),
  Layer.provide(MailOutbox.Default)
)

const gateway = Gateway.Default.pipe(
  Layer.provide(Layer.mergeAll(CardCalls.Default, MachineCalls.Default, CallQuotes.Default)),
  Layer.provide(Plugins.Default),
  Layer.provide(MachinePayments.Default),
  Layer.provide(PaymentSettlement.Default)
)

const accountDeletionHooks = Layer.effect(
  AccountDeletionHooks,
  Effect.map(CardCustomers, ({ scheduleRemoval }) => [scheduleRemoval])
).pipe(Layer.provide(CardCustomers.Default))
const conversationRemoval = Layer.effect(
  ConversationRemoval,
  Effect.map(ConversationRecords, ({ removeAll }) => ({ removeAll }))
)

const conversations = Layer.merge(
  Layer.provideMerge(Conversations.Default, Layer.merge(ChatSessions.Default, ConversationTurns.Default)),
  ResumedAnswers.Default
).pipe(Layer.provide(Layer.merge(TurnSettlement.Default, QuotedOwnKeyCoverage.layer)))

/** Purchases, checkout links and own model keys. */
const billing = Layer.merge(BillingActions.Default, CheckoutLinks.Default).pipe(
  Layer.provide(Layer.provide(Layer.merge(Checkouts.Default, SavedCardCharges.Default), CardCustomers.Default)),
  Layer.provideMerge(Layer.provideMerge(OwnModelKeys.Default, CredentialVault.Default))
)

/** Use cases of the public listener. */
export const web = Layer.mergeAll(
  Layer.provide(AccountDeletion.Default, Layer.merge(AccountRemoval.Default, accountDeletionHooks)),
  PasswordSignIn.Default,
  ClaimNotices.Default,
  proofs,
  billing,
  BearerSessions.Default,
  AgentHealth.Default,
  GatewayTokenAccess.Default,
  gateway,
  CardEventInbox.Default
).pipe(
  Layer.provideMerge(Layer.merge(wallets, TokenGate.Default)),
  Layer.provideMerge(Layer.merge(accounts, LinkedIdentities.Default)),
  Layer.provideMerge(
    Layer.mergeAll(
      conversations,
      Layer.provideMerge(conversationRemoval, ConversationRecords.Default),
      AgentConfiguration.Default
    )
  ),
  Layer.provideMerge(Users.Default),
  Layer.provideMerge(PasswordCredentials.Default),
  Layer.provideMerge(Layer.provide(AccessNotices.Default, MailOutbox.Default)),
  Layer.provideMerge(MailedTokens.Default),
  Layer.provideMerge(Agents.Default),
  Layer.provideMerge(Instances.Default),
  Layer.provideMerge(ManagedAgentInstances.layer)
)

/** Agent tasks, by callers' agents or the orchestrator. */
export const agentTasks = AgentTasksLive.layer.pipe(
  Layer.provide(Layer.provide(Agents.Default, ManagedAgentInstances.layer)),
  Layer.provide(Layer.mergeAll(Users.Default, TaskTurns.Default, QuotedOwnKeyCoverage.layer))
)

/** Model answers for the gateway, by the AI layer in this process. */
export const localAnswers = Layer.provide(LocalModelAnswers.layer, AiLayer.Default)

/** Use cases of the private listener. */
export const backend = Layer.mergeAll(
  AiLayer.Default,
  AgentLifecycle.Default,
  Instances.Default,
  DeadLetters.Default,
  localAnswers,
  Layer.provide(TurnModelCalls.Default, AiLayer.Default)
)

/** Owners' model keys for the AI layer. */
export const ownerKeys = Layer.provide(OwnerKeysFromVault.layer, CredentialVault.Default)

/** The agent manager of this process, for the instances of this host. */
export const agentManager = LocalAgentManager.layer.pipe(
  Layer.provide(Layer.merge(InstanceReconciler.Default, OrphanCleanup.Default)),
  Layer.provide(InstanceContents.Default),
  Layer.provide(
    Layer.mergeAll(Users.Default, AgentLifecycle.Default, Layer.provide(ContextWindows.layer, AiLayer.Default))
  )
)
