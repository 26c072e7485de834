import { HttpApi } from "@effect/platform"
import { AccountsApi } from "./accounts/AccountsApi.ts"
import { AdministrationApi } from "./administration/AdministrationApi.ts"
import { RecoveryApi } from "./recovery/RecoveryApi.ts"
import { ReferralsApi } from "./accounts/referrals/ReferralsApi.ts"
import { AgentConfigApi } from "./agents/AgentConfigApi.ts"
import { AgentRecordsApi } from "./interaction/AgentRecordsApi.ts"
import { AgentsApi } from "./agents/AgentsApi.ts"
import { WebhooksApi } from "./billing/events/WebhooksApi.ts"
import { BillingApi } from "./billing/BillingApi.ts"
import { CheckoutApi } from "./billing/checkout/CheckoutApi.ts"
import { DevelopmentPlansApi } from "./billing/subscriptions/DevelopmentPlansApi.ts"
import { ChannelsApi } from "./channels/ChannelsApi.ts"
import { ChannelWebhooksApi } from "./channels/ChannelWebhooksApi.ts"
import { DeprecatedApi } from "./deprecated/DeprecatedApi.ts"
import { GatingApi } from "./gating/GatingApi.ts"
import { GatewayApi } from "./gateway/GatewayApi.ts"
import { McpApi } from "./mcp/McpApi.ts"
import { OpenAiGatewayApi } from "./gateway/OpenAiGatewayApi.ts"
import { describeApi } from "./http/OpenApiDocument.ts"
import { requestErrors } from "./http/RequestErrors.ts"
import { DeploymentsApi } from "./instances/DeploymentsApi.ts"
import { InstancesApi } from "./instances/InstancesApi.ts"
import { AgentOverviewsApi } from "./interaction/AgentOverviewsApi.ts"
import { AttachmentsApi } from "./interaction/AttachmentsApi.ts"
import { ConversationsApi } from "./interaction/ConversationsApi.ts"
import { MemoryApi } from "./interaction/MemoryApi.ts"
import { InteractionApi } from "./interaction/InteractionApi.ts"
import { ApiKeysApi } from "./accounts/api-keys/ApiKeysApi.ts"
import { AccessTokensApi } from "./sessions/AccessTokensApi.ts"
import { apiKeyScheme, apiKeySecurityScheme } from "./sessions/RequiredScope.ts"
import { AgentLiveStreamsApi, LiveIngestApi, LivePlaybackApi } from "./provisioning/live-streams/LiveStreamsApi.ts"
import { ProvisioningApi } from "./provisioning/ProvisioningApi.ts"
import { SchedulesApi, SkillRunsApi } from "./schedules/SchedulesApi.ts"
import { UploadedSkillsApi } from "./agents/UploadedSkillsApi.ts"
import { McpServersApi } from "./agents/McpServersApi.ts"
import { A2aMessagesApi, AgentA2aApi } from "./a2a/A2aApi.ts"
import { A2aTasksApi, AgentCardsApi } from "./a2a/tasks/A2aTasksApi.ts"
import { describeWebhooks } from "./webhooks/WebhookEvents.ts"
import { WebhookEndpointsApi } from "./webhooks/WebhookEndpointsApi.ts"
import { SessionsApi } from "./sessions/SessionsApi.ts"
import { OAuthApi } from "./signin/oauth/OAuthApi.ts"
import { SignInApi } from "./signin/SignInApi.ts"
import { SocialIdentityApi } from "./signin/social/SocialIdentityApi.ts"
import { AgentWalletApi } from "./wallets/AgentWalletApi.ts"
import { UserWalletsApi } from "./wallets/UserWalletsApi.ts"
import { VerificationApi } from "./verification/VerificationApi.ts"
import { WalletApi } from "./signin/wallets/WalletApi.ts"

export class WebApi extends HttpApi.make("web")
  .add(AccountsApi)
  .add(RecoveryApi)
  .add(ReferralsApi)
  .add(SignInApi)
  .add(AccessTokensApi)
  .add(SessionsApi)
  .add(ApiKeysApi)
  .add(WalletApi)
  .add(UserWalletsApi)
  .add(AgentWalletApi)
  .add(OAuthApi)
  .add(SocialIdentityApi)
  .add(GatingApi)
  .add(AgentsApi)
  .add(AgentConfigApi)
  .add(VerificationApi)
  .add(AgentRecordsApi)
  .add(InstancesApi)
  .add(DeploymentsApi)
  .add(InteractionApi)
  .add(ConversationsApi)
  .add(AttachmentsApi)
  .add(MemoryApi)
  .add(AgentOverviewsApi)
  .add(ChannelsApi)
  .add(SchedulesApi)
  .add(SkillRunsApi)
  .add(UploadedSkillsApi)
  .add(McpServersApi)
  .add(ProvisioningApi)
  .add(AgentLiveStreamsApi)
  .add(LiveIngestApi)
  .add(LivePlaybackApi)
  .add(WebhooksApi)
  .add(WebhookEndpointsApi)
  .add(A2aMessagesApi)
  .add(AgentA2aApi)
  .add(A2aTasksApi)
  .add(AgentCardsApi)
  .add(ChannelWebhooksApi)
  .add(BillingApi)
  .add(CheckoutApi)
  .add(DevelopmentPlansApi)
  .add(DeprecatedApi)
  .add(GatewayApi)
  .add(OpenAiGatewayApi)
  .add(McpApi)
  .add(AdministrationApi)
  .annotateContext(
    describeApi(
      {
        title: "Berth",
        description:
          "Accounts, agents in isolated instances, conversations, billing and the gateway. Conversations, and messages, logs and stats of agents, are also served at the instance's own address (`url` of an agent), where its gateway token is a bearer token. Removed operations (`POST /api/agents`, `PUT` and `DELETE /api/agents/:id`, `POST /api/checkout`) respond 410 and name their `successor`."
      },
      {
        hasOriginCheck: true,
        securitySchemes: { [apiKeyScheme]: apiKeySecurityScheme },
        webhooks: describeWebhooks
      }
    )
  ) {
  static override readonly errorSchema = requestErrors
}
