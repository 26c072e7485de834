import { AccountDeletion } from "@berth/domain/accounts/AccountDeletion"
import { AccountRemoval } from "@berth/domain/accounts/AccountRemoval"
import { Accounts } from "@berth/domain/accounts/Accounts"
import { Credentials } from "@berth/domain/accounts/Credentials"
import { EmailVerifications } from "@berth/domain/accounts/EmailVerifications"
import { ExternalAccounts } from "@berth/domain/accounts/ExternalAccounts"
import { PasswordResets } from "@berth/domain/accounts/PasswordResets"
import { Referrals } from "@berth/domain/accounts/Referrals"
import { Users } from "@berth/domain/accounts/Users"
import { Wallets } from "@berth/domain/accounts/Wallets"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import { AgentRoster } from "@berth/domain/agents/AgentRoster"
import { Agents } from "@berth/domain/agents/Agents"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { ContextWindows } from "@berth/domain/ai/ContextWindows"
import { Allowances } from "@berth/domain/billing/Allowances"
import { CardEventInbox } from "@berth/domain/billing/events/CardEventInbox"
import { CardCustomers } from "@berth/domain/billing/CardCustomers"
import { Purchases } from "@berth/domain/billing/Purchases"
import { CellContents } from "@berth/domain/instances/CellContents"
import { TokenGate } from "@berth/domain/gating/TokenGate"
import { CellKeeper } from "@berth/domain/instances/CellKeeper"
import { CellTokens } from "@berth/domain/instances/CellTokens"
import { GatewayAccess } from "@berth/domain/instances/GatewayAccess"
import * as AgentTasksLive from "@berth/domain/gateway/AgentTasksLive"
import { CardCalls } from "@berth/domain/gateway/CardCalls"
import * as LocalModelAnswers from "@berth/domain/gateway/LocalModelAnswers"
import { MachineCalls } from "@berth/domain/gateway/MachineCalls"
import { MachinePayments } from "@berth/domain/gateway/payments/MachinePayments"
import { Plugins } from "@berth/domain/gateway/Plugins"
import { Instances } from "@berth/domain/instances/Instances"
import { DepartedOwners } from "@berth/domain/instances/DepartedOwners"
import * as LocalAgentManager from "@berth/domain/instances/LocalAgentManager"
import { DeadLetters } from "@berth/domain/jobs/DeadLetters"
import { AgentHealth } from "@berth/domain/interaction/AgentHealth"
import { ConversationRecords } from "@berth/domain/interaction/ConversationRecords"
import { Conversations } from "@berth/domain/interaction/Conversations"
import { Memories } from "@berth/domain/interaction/Memories"
import { Post } from "@berth/domain/mail/Post"
import { CredentialVault } from "@berth/domain/secrets/CredentialVault"
import { OwnModelKeys } from "@berth/domain/secrets/OwnModelKeys"
import * as OwnerKeysFromVault from "@berth/domain/secrets/OwnerKeysFromVault"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { AccountClaims } from "@berth/domain/signin/AccountClaims"
import { CredentialsSignIn } from "@berth/domain/signin/CredentialsSignIn"
import { LinkedAccounts } from "@berth/domain/signin/LinkedAccounts"
import { LinkedIdentities } from "@berth/domain/signin/LinkedIdentities"
import { OAuthSignIn } from "@berth/domain/signin/OAuthSignIn"
import { OAuthTickets } from "@berth/domain/signin/OAuthTickets"
import { SocialSessions } from "@berth/domain/signin/SocialSessions"
import { SocialSignIn } from "@berth/domain/signin/SocialSignIn"
import { WalletLinking } from "@berth/domain/signin/WalletLinking"
import { WalletNonces } from "@berth/domain/signin/WalletNonces"
import { WalletProofs } from "@berth/domain/signin/WalletProofs"
import { WalletSignIn } from "@berth/domain/signin/WalletSignIn"
import * as WaysIn from "@berth/domain/signin/WaysIn"
import { Layer } from "effect"

/*
 * The use cases behind each listener, over the ports. What they need of the outside is provided by the program, or by a test.
 */

/** Behind both listeners. */
export const shared = Layer.mergeAll(SocialSessions.Default, Allowances.Default, Memories.Default).pipe(
  Layer.provideMerge(Sessions.Default)
)

/** Identities at other providers, forgotten passwords, and all that leads into accounts. */
const proofs = Layer.mergeAll(OAuthSignIn.Default, SocialSignIn.Default, PasswordResets.Default).pipe(
  Layer.provide(LinkedAccounts.Default),
  Layer.provide(AccountClaims.Default),
  Layer.provide(Layer.provide(WaysIn.layer, CredentialVault.Default)),
  Layer.provide(Layer.merge(OAuthTickets.Default, ExternalAccounts.Default))
)

/** Sign-in by wallet, and the wallets of an account. */
const wallets = Layer.merge(WalletSignIn.Default, WalletLinking.Default).pipe(
  Layer.provideMerge(Layer.merge(WalletProofs.Default, Wallets.Default)),
  Layer.provideMerge(WalletNonces.Default)
)

/** Accounts, and what is mailed about them. */
const accounts = Accounts.Default.pipe(
  Layer.provideMerge(EmailVerifications.Default),
  Layer.provideMerge(Referrals.Default),
  Layer.provide(Post.Default)
)

/** What the gateway does for whoever pays. */
const gateway = Layer.merge(CardCalls.Default, MachineCalls.Default).pipe(
  Layer.provideMerge(Plugins.Default),
  Layer.provide(MachinePayments.Default)
)

/** Behind the public listener. */
export const web = Layer.mergeAll(
  Layer.provide(AccountDeletion.Default, Layer.merge(AccountRemoval.Default, CardCustomers.Default)),
  CredentialsSignIn.Default,
  proofs,
  Layer.provideMerge(OwnModelKeys.Default, CredentialVault.Default),
  Layer.provide(Purchases.Default, CardCustomers.Default),
  BearerSessions.Default,
  AgentHealth.Default,
  GatewayAccess.Default,
  gateway,
  CardEventInbox.Default
).pipe(
  Layer.provideMerge(Layer.merge(wallets, TokenGate.Default)),
  Layer.provideMerge(Layer.merge(accounts, LinkedIdentities.Default)),
  Layer.provideMerge(Layer.mergeAll(Conversations.Default, ConversationRecords.Default, AgentConfiguration.Default)),
  Layer.provideMerge(Users.Default),
  Layer.provideMerge(Credentials.Default),
  Layer.provideMerge(Agents.Default),
  Layer.provideMerge(Instances.Default)
)

/** Tasks by callers' own agents, or by the orchestrator. */
export const agentTasks = AgentTasksLive.layer.pipe(
  Layer.provide(Agents.Default),
  Layer.provide(Layer.merge(Users.Default, Instances.Default))
)

/** What the gateway needs of models, by the AI layer in this process. */
export const localAnswers = Layer.provide(LocalModelAnswers.layer, AiLayer.Default)

/** Behind the private listener. */
export const backend = Layer.mergeAll(
  AiLayer.Default,
  AgentRoster.Default,
  CellTokens.Default,
  DeadLetters.Default,
  localAnswers
)

/** Owners' own keys for the AI layer. */
export const ownerKeys = Layer.provide(OwnerKeysFromVault.layer, CredentialVault.Default)

/** The agent manager in this process, which keeps this host's cells. */
export const agentManager = LocalAgentManager.layer.pipe(
  Layer.provide(Layer.merge(CellKeeper.Default, DepartedOwners.Default)),
  Layer.provide(CellContents.Default),
  Layer.provide(
    Layer.mergeAll(Users.Default, AgentRoster.Default, Layer.provide(ContextWindows.layer, AiLayer.Default))
  )
)
