import * as AccountsServices from "@berth/domain/accounts/AccountsServices"
import * as AdministrationServices from "@berth/domain/administration/AdministrationServices"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import { AgentMcpServers } from "@berth/domain/agents/AgentMcpServers"
import * as AgentsServices from "@berth/domain/agents/AgentsServices"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import { ContextWindows } from "@berth/domain/ai/ContextWindows"
import * as VaultOwnerKeys from "@berth/domain/ai/keys/VaultOwnerKeys"
import * as BillingServices from "@berth/domain/billing/BillingServices"
import * as GatewayServices from "@berth/domain/gateway/GatewayServices"
import * as QuotedOwnerModels from "@berth/domain/gateway/plugins/QuotedOwnerModels"
import * as ChannelsServices from "@berth/domain/channels/ChannelsServices"
import * as LocalChannelTurns from "@berth/domain/channels/LocalChannelTurns"
import { TokenGate } from "@berth/domain/gating/TokenGate"
import { Instances } from "@berth/domain/instances/Instances"
import * as InstancesServices from "@berth/domain/instances/InstancesServices"
import * as ManagedAgentInstances from "@berth/domain/instances/ManagedAgentInstances"
import { AgentOverviews } from "@berth/domain/interaction/overviews/AgentOverviews"
import * as InteractionServices from "@berth/domain/interaction/InteractionServices"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { TurnModelCalls } from "@berth/domain/interaction/turns/TurnModelCalls"
import { TurnBudgets } from "@berth/domain/interaction/turns/TurnBudgets"
import { RuntimeSpans } from "@berth/domain/instances/RuntimeSpans"
import { TurnMcpTools } from "@berth/domain/interaction/turns/TurnMcpTools"
import { TurnPages } from "@berth/domain/interaction/turns/TurnPages"
import { DeadLetters } from "@berth/domain/jobs/DeadLetters"
import { MailOutbox } from "@berth/domain/mail/MailOutbox"
import { AgentClaims } from "@berth/domain/provisioning/AgentClaims"
import * as LocalChannelProvisioning from "@berth/domain/provisioning/LocalChannelProvisioning"
import { VoiceMessages } from "@berth/domain/channels/VoiceMessages"
import { ChargedTranscription } from "@berth/domain/gateway/speech/ChargedTranscription"
import { Channels } from "@berth/domain/channels/Channels"
import { Referrals } from "@berth/domain/accounts/referrals/Referrals"
import { ExternalAccounts } from "@berth/domain/accounts/registration/ExternalAccounts"
import { AgentConversations } from "@berth/domain/interaction/conversations/AgentConversations"
import { AgentLiveStreams } from "@berth/domain/provisioning/live-streams/AgentLiveStreams"
import { LiveIngest } from "@berth/domain/provisioning/live-streams/LiveIngest"
import { LivePlayback } from "@berth/domain/provisioning/live-streams/LivePlayback"
import * as SchedulesServices from "@berth/domain/schedules/SchedulesServices"
import * as RecoveryServices from "@berth/domain/recovery/RecoveryServices"
import { CredentialVault } from "@berth/domain/secrets/CredentialVault"
import { OwnModelKeys } from "@berth/domain/secrets/OwnModelKeys"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { Sessions } from "@berth/domain/sessions/Sessions"
import * as SignInServices from "@berth/domain/signin/SignInServices"
import { SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import * as WalletsServices from "@berth/domain/wallets/WalletsServices"
import * as VerificationServices from "@berth/domain/verification/VerificationServices"
import { A2aCalls } from "@berth/domain/a2a/A2aCalls"
import { A2aAgentSettings } from "@berth/domain/a2a/A2aAgentSettings"
import { A2aMessages } from "@berth/domain/a2a/A2aMessages"
import { A2aPeers } from "@berth/domain/a2a/tasks/A2aPeers"
import { PushNotifications } from "@berth/domain/a2a/tasks/PushNotifications"
import { A2aTasks } from "@berth/domain/a2a/tasks/A2aTasks"
import { SkillCalls } from "@berth/domain/schedules/runs/SkillCalls"
import { WebhookEndpoints } from "@berth/domain/webhooks/WebhookEndpoints"
import { Layer } from "effect"
import * as AccessMethodList from "./AccessMethodList.ts"

/* Services of each listener, over ports that the program or a test provides. */

/** Services of both listeners. */
export const shared = Layer.mergeAll(SocialSessions.Default, BillingServices.balances, Memories.Default).pipe(
  Layer.provideMerge(Sessions.Default)
)

const a2aMessages = Layer.provide(
  A2aMessages.Default,
  Layer.mergeAll(SkillCalls.Default, AgentLifecycle.Default, TurnBudgets.Default)
)

/** Services of the public listener. */
export const web = Layer.mergeAll(
  GatewayServices.layer,
  Layer.provideMerge(
    Layer.provideMerge(PushNotifications.Default, A2aTasks.Default),
    Layer.provide(InteractionServices.layer, QuotedOwnerModels.layer)
  ),
  Layer.provide(A2aPeers.Default, AgentLifecycle.Default),
  A2aAgentSettings.Default,
  QuotedOwnerModels.layer,
  Layer.provideMerge(
    Layer.provide(AgentClaims.Default, Layer.merge(AgentConversations.Default, Channels.Default)),
    AgentLiveStreams.Default
  ),
  LiveIngest.Default,
  LivePlayback.Default,
  AgentOverviews.Default,
  AgentMcpServers.Default,
  VerificationServices.layer,
  Layer.provide(Layer.provideMerge(AdministrationServices.layer, BillingServices.layer), AgentsServices.limits),
  AdministrationServices.queues,
  AdministrationServices.providers,
  SignInServices.layer,
  BearerSessions.Default,
  ChannelsServices.layer,
  SchedulesServices.layer,
  WebhookEndpoints.Default,
  a2aMessages
).pipe(
  Layer.provideMerge(RecoveryServices.layer),
  Layer.provide(Layer.merge(AccessMethodList.layer, BillingServices.deletionHooks)),
  Layer.provideMerge(WalletsServices.layer),
  Layer.provideMerge(Layer.mergeAll(SignInServices.links, TokenGate.Default, OwnModelKeys.Default)),
  Layer.provideMerge(Layer.merge(CredentialVault.Default, InstancesServices.layer)),
  Layer.provideMerge(Layer.merge(AccountsServices.layer, AgentsServices.layer)),
  Layer.provideMerge(ManagedAgentInstances.layer),
  Layer.provide(MailOutbox.Default)
)

export const agentTasks = GatewayServices.agentTaskRunner.pipe(
  Layer.provide(Layer.merge(AccountsServices.users, AgentsServices.layer)),
  Layer.provide(ManagedAgentInstances.layer)
)

/** Provisioning with channel tokens in this process. */
export const provisioning = LocalChannelProvisioning.layer.pipe(
  Layer.provide(
    Layer.mergeAll(
      Layer.provide(ExternalAccounts.Default, Referrals.Default),
      AgentsServices.layer,
      Channels.Default,
      CredentialVault.Default
    )
  ),
  Layer.provide(ManagedAgentInstances.layer)
)

const channelTurns = LocalChannelTurns.layer.pipe(
  Layer.provide(Layer.provide(VoiceMessages.Default, ChargedTranscription.Default)),
  Layer.provide(InteractionServices.layer),
  Layer.provide(Layer.provide(QuotedOwnerModels.layer, GatewayServices.localAnswers)),
  Layer.provide(Layer.mergeAll(AccountsServices.users, AgentsServices.layer, Instances.Default)),
  Layer.provide(ManagedAgentInstances.layer)
)

/** The skill by which agents send messages to other agents. */
const a2aCalls = A2aCalls.Default.pipe(
  Layer.provide(Layer.merge(a2aMessages, AgentLifecycle.Default)),
  Layer.provide(Layer.mergeAll(AccountsServices.users, AgentsServices.layer)),
  Layer.provide(ManagedAgentInstances.layer)
)

/** Services of the private listener. */
export const backend = Layer.mergeAll(
  AgentLifecycle.Default,
  Instances.Default,
  DeadLetters.Default,
  GatewayServices.localAnswers,
  TurnModelCalls.Default,
  WalletsServices.calls,
  TurnPages.Default,
  RuntimeSpans.Default,
  TurnMcpTools.Default,
  channelTurns,
  a2aCalls
).pipe(Layer.provideMerge(AiLayer.Default))

export const ownerKeys = Layer.provide(VaultOwnerKeys.layer, CredentialVault.Default)

export const agentManager = InstancesServices.manager.pipe(
  Layer.provide(Layer.merge(AccountsServices.users, Layer.provide(ContextWindows.layer, AiLayer.Default)))
)
