import type { AgentConfigApi } from "@berth/api/agents/AgentConfigApi"
import type { AgentsApi } from "@berth/api/agents/AgentsApi"
import type { McpServersApi } from "@berth/api/agents/McpServersApi"
import type { UploadedSkillsApi } from "@berth/api/agents/UploadedSkillsApi"
import type { AgentA2aApi } from "@berth/api/a2a/A2aApi"
import type { AccountsApi, AccountSettingsWithNotifications } from "@berth/api/accounts/AccountsApi"
import type { ApiKeysApi } from "@berth/api/accounts/api-keys/ApiKeysApi"
import type { ReferralsApi } from "@berth/api/accounts/referrals/ReferralsApi"
import type { AdministrationApi } from "@berth/api/administration/AdministrationApi"
import type { BillingApi } from "@berth/api/billing/BillingApi"
import type { ChannelsApi } from "@berth/api/channels/ChannelsApi"
import type { InstancesApi } from "@berth/api/instances/InstancesApi"
import type { AgentOverviewEvent } from "@berth/api/interaction/AgentOverviewsApi"
import type { AgentRecordsApi } from "@berth/api/interaction/AgentRecordsApi"
import type {
  AgentHealthView,
  FullSession,
  MemoryItem,
  SessionMessage as SessionMessageBody,
  SessionSummary,
  SkillView
} from "@berth/api/interaction/InteractionApi"
import type { MemoryApi } from "@berth/api/interaction/MemoryApi"
import type { SchedulesApi } from "@berth/api/schedules/SchedulesApi"
import type { SessionsApi } from "@berth/api/sessions/SessionsApi"
import type { VerificationApi } from "@berth/api/verification/VerificationApi"
import type { WalletApi } from "@berth/api/signin/wallets/WalletApi"
import type { WebhookEndpointsApi } from "@berth/api/webhooks/WebhookEndpointsApi"
import type { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import type { Brand, DateTime, Redacted } from "effect"

/** A decoded value in JSON: times and secrets are text, brands are removed. */
type Wire<A> = A extends DateTime.Utc
  ? string
  : A extends Redacted.Redacted<infer S>
    ? S
    : A extends Brand.Brand<string | symbol>
      ? Brand.Brand.Unbranded<A>
      : A extends ReadonlyArray<infer Item>
        ? ReadonlyArray<Wire<Item>>
        : A extends object
          ? { readonly [Key in keyof A]: Wire<A[Key]> }
          : A

type Answer<Group extends HttpApiGroup.HttpApiGroup.Any, Name extends string> = Wire<
  HttpApiEndpoint.HttpApiEndpoint.Success<
    HttpApiEndpoint.HttpApiEndpoint.WithName<HttpApiGroup.HttpApiGroup.Endpoints<Group>, Name>
  >
>

export type AgentListJson = Answer<typeof AgentsApi, "list">
export type AgentItemJson = AgentListJson["agents"][number]
export type ProvisionedAgentJson = Answer<typeof AgentsApi, "provision">
export type AgentConfigJson = Answer<typeof AgentConfigApi, "read">["config"]
export type AgentConfigAnswerJson = Answer<typeof AgentConfigApi, "read">
export type UploadedSkillsJson = Answer<typeof UploadedSkillsApi, "list">
export type McpServersJson = Answer<typeof McpServersApi, "list">
export type LogsJson = Answer<typeof AgentRecordsApi, "logs">
export type StatsJson = Answer<typeof AgentRecordsApi, "stats">
export type AgentOverviewEventJson = typeof AgentOverviewEvent.Encoded
export type AgentOverviewJson = AgentOverviewEventJson["agents"][number]
export type InstanceStorageJson = Answer<typeof InstancesApi, "storage">
export type SchedulesJson = Answer<typeof SchedulesApi, "list">
export type ScheduleJson = SchedulesJson["schedules"][number]
export type ScheduleRunsJson = Answer<typeof SchedulesApi, "runs">
export type MemoryNotesJson = Answer<typeof MemoryApi, "list">
export type MemoryMatchesJson = Answer<typeof MemoryApi, "search">
export type ChannelsJson = Answer<typeof ChannelsApi, "read">
export type A2aMessagesJson = Answer<typeof AgentA2aApi, "messages">
export type BillingJson = Answer<typeof BillingApi, "overview">
export type BillingHistoryJson = Answer<typeof BillingApi, "history">
export type BudgetsJson = Answer<typeof BillingApi, "budgets">
export type BudgetJson = BudgetsJson["budgets"][number]
export type BillingUsageJson = Answer<typeof BillingApi, "usage">
export type ReferralJson = Answer<typeof ReferralsApi, "referral">
export type AccountJson = Answer<typeof AccountsApi, "settings">
export type AccountWithNotificationsJson = Wire<typeof AccountSettingsWithNotifications.Type>
export type SignInSessionsJson = Answer<typeof SessionsApi, "list">
export type VerificationJson = Answer<typeof VerificationApi, "verification">
export type VerificationEvidenceJson = Answer<typeof VerificationApi, "evidence">
export type WalletsJson = Answer<typeof WalletApi, "wallets">
export type ApiKeysJson = Answer<typeof ApiKeysApi, "list">
export type CreatedApiKeyJson = Answer<typeof ApiKeysApi, "create">
export type WebhookEndpointsJson = Answer<typeof WebhookEndpointsApi, "list">
export type CreatedWebhookEndpointJson = Answer<typeof WebhookEndpointsApi, "create">
export type WebhookDeliveriesJson = Answer<typeof WebhookEndpointsApi, "deliveries">
export type AdministeredUsersJson = Answer<typeof AdministrationApi, "users">
export type AdministeredAccountJson = Answer<typeof AdministrationApi, "user">
export type AdministeredInstancesJson = Answer<typeof AdministrationApi, "instances">
export type ProviderStatusesJson = Answer<typeof AdministrationApi, "providers">
type ProviderStatusJson = ProviderStatusesJson["providers"][number]
export type ProviderNameJson = ProviderStatusJson["provider"]
export type ProviderFailureJson = NonNullable<ProviderStatusJson["lastFailure"]>["kind"]
export type QueuesJson = Answer<typeof AdministrationApi, "queues">
export type DeadJobsJson = Answer<typeof AdministrationApi, "deadJobs">
export type AuditEntriesJson = Answer<typeof AdministrationApi, "audit">
export type AuditActionJson = AuditEntriesJson["entries"][number]["action"]
export type PlanIdJson = AdministeredAccountJson["plan"]

/** Times are epoch milliseconds. */
export type SessionJson = typeof SessionSummary.Encoded
export type SessionMessageJson = typeof SessionMessageBody.Encoded
export type AttachmentJson = SessionMessageJson["attachments"][number]
export type ToolActivityJson = SessionMessageJson["toolCalls"][number]
export type SessionPageJson = typeof FullSession.Encoded
export type AgentHealthJson = typeof AgentHealthView.Encoded
export type MemoryJson = typeof MemoryItem.Encoded
export type SkillJson = typeof SkillView.Encoded
