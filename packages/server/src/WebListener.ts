import { isAttachmentUpload } from "@berth/api/interaction/AttachmentsApi"
import { attachmentLimits } from "@berth/domain/interaction/attachments/Attachment"
import { ingestPath } from "@berth/api/provisioning/live-streams/LiveStreamsApi"
import { liveLimits } from "@berth/domain/provisioning/live-streams/LiveStream"
import { audioTranscriptionsPath } from "@berth/api/gateway/OpenAiGatewayApi"
import { gatewayPath } from "@berth/api/gateway/GatewayApi"
import { developmentPlanPath } from "@berth/api/billing/subscriptions/DevelopmentPlansApi"
import { findA2aErrorShape } from "@berth/api/a2a/tasks/A2aErrorBodies"
import { findMcpErrorShape } from "@berth/api/mcp/McpErrorShape"
import { WebApi } from "@berth/api/WebApi"
import { BillingSettings } from "@berth/domain/billing/BillingSettings"
import type { HttpServerRequest } from "@effect/platform"
import { Effect, Layer } from "effect"
import type { IncomingMessage } from "node:http"
import * as ApiKeysHttp from "./accounts/ApiKeysHttp.ts"
import * as AccountsHttp from "./accounts/AccountsHttp.ts"
import * as AdministrationHttp from "./administration/AdministrationHttp.ts"
import * as AdministratorAuthHttp from "./administration/AdministratorAuthHttp.ts"
import * as BotCheckHttp from "./accounts/BotCheckHttp.ts"
import * as RecoveryHttp from "./recovery/RecoveryHttp.ts"
import * as ReferralsHttp from "./accounts/ReferralsHttp.ts"
import * as AgentConfigHttp from "./agents/AgentConfigHttp.ts"
import * as AgentOwnerHttp from "./agents/AgentOwnerHttp.ts"
import * as AgentRecordsHttp from "./interaction/AgentRecordsHttp.ts"
import * as AgentsHttp from "./agents/AgentsHttp.ts"
import * as A2aHttp from "./a2a/A2aHttp.ts"
import * as A2aSenderAuthHttp from "./a2a/A2aSenderAuthHttp.ts"
import * as A2aPeerAuthHttp from "./a2a/tasks/A2aPeerAuthHttp.ts"
import * as A2aTasksHttp from "./a2a/tasks/A2aTasksHttp.ts"
import * as AgentCardsHttp from "./a2a/tasks/AgentCardsHttp.ts"
import * as WebhookEndpointsHttp from "./webhooks/WebhookEndpointsHttp.ts"
import * as WebhooksHttp from "./billing/WebhooksHttp.ts"
import * as ChannelsHttp from "./channels/ChannelsHttp.ts"
import * as ChannelWebhooksHttp from "./channels/ChannelWebhooksHttp.ts"
import * as BillingHttp from "./billing/BillingHttp.ts"
import * as CheckoutHttp from "./billing/CheckoutHttp.ts"
import * as DevelopmentPlansHttp from "./billing/DevelopmentPlansHttp.ts"
import * as DeprecatedHttp from "./deprecated/DeprecatedHttp.ts"
import * as GatewayHttp from "./gateway/GatewayHttp.ts"
import * as McpHttp from "./mcp/McpHttp.ts"
import * as OpenAiGatewayHttp from "./gateway/OpenAiGatewayHttp.ts"
import * as PricedOpenApi from "./gateway/PricedOpenApi.ts"
import { maximumFormBytes } from "./gateway/MultipartForm.ts"
import { gatewayBodyLimit } from "./gateway/ReceivedCall.ts"
import { isOpenAiPath, openAiBodyLimit, reshapeErrors } from "./ai/OpenAiPaths.ts"
import * as GatingHttp from "./gating/GatingHttp.ts"
import * as DocumentationHttp from "./http/DocumentationHttp.ts"
import { healthRoutes } from "@berth/api/http/Health"
import { CredentialWatch } from "./http/CredentialWatch.ts"
import type { DirectRoutes } from "./http/DirectRoutes.ts"
import { InstanceCredentials } from "./http/InstanceCredentials.ts"
import * as RequestCaller from "./http/RequestCaller.ts"
import { IdempotencyMiddleware } from "./http/IdempotencyMiddleware.ts"
import * as HttpListener from "./http/HttpListener.ts"
import { defaultBodyLimit } from "./http/RequestBody.ts"
import { makeHttpPipeline } from "./http/HttpPipeline.ts"
import { addApi } from "./http/RequestRouter.ts"
import { healthPaths, listRoutes } from "./http/RouteTable.ts"
import { withRedactedHeaders } from "./http/SpanRedaction.ts"
import * as DeploymentsHttp from "./instances/DeploymentsHttp.ts"
import * as InstancesHttp from "./instances/InstancesHttp.ts"
import * as InstanceOwnerHttp from "./instances/InstanceOwnerHttp.ts"
import * as AgentSocketDocumentHttp from "./interaction/AgentSocketDocumentHttp.ts"
import * as AgentSocketHttp from "./interaction/AgentSocketHttp.ts"
import * as AgentSockets from "./interaction/AgentSockets.ts"
import { moveTokenToHeader } from "./interaction/SocketCredentials.ts"
import * as AgentOverviewsHttp from "./interaction/AgentOverviewsHttp.ts"
import * as AttachmentsHttp from "./interaction/AttachmentsHttp.ts"
import * as MemoryHttp from "./interaction/MemoryHttp.ts"
import * as ConversationsHttp from "./interaction/ConversationsHttp.ts"
import * as InteractionHttp from "./interaction/InteractionHttp.ts"
import * as AgentLiveStreamsHttp from "./provisioning/AgentLiveStreamsHttp.ts"
import * as LiveIngestHttp from "./provisioning/LiveIngestHttp.ts"
import * as LivePlaybackHttp from "./provisioning/LivePlaybackHttp.ts"
import * as ProvisioningHttp from "./provisioning/ProvisioningHttp.ts"
import { moveStreamKeyToHeader } from "./provisioning/StreamKeys.ts"
import * as RateLimitsHttp from "./http/RateLimitsHttp.ts"
import * as AssetsHttp from "./pages/AssetsHttp.ts"
import * as InstancePagesHttp from "./pages/InstancePagesHttp.ts"
import { makePagePresentation } from "./pages/PagePresentation.ts"
import * as ConsoleHttp from "./pages/ConsoleHttp.ts"
import * as PagesHttp from "./pages/PagesHttp.ts"
import * as SchedulesHttp from "./schedules/SchedulesHttp.ts"
import * as McpServersHttp from "./agents/McpServersHttp.ts"
import * as UploadedSkillsHttp from "./agents/UploadedSkillsHttp.ts"
import * as AccessTokensHttp from "./sessions/AccessTokensHttp.ts"
import * as BearerAuthHttp from "./sessions/BearerAuthHttp.ts"
import { RequestCredentials } from "./http/RequestCredentials.ts"
import * as SessionAuthHttp from "./sessions/SessionAuthHttp.ts"
import { sessionCookieLayer } from "./http/SecretCookies.ts"
import * as SessionsHttp from "./sessions/SessionsHttp.ts"
import * as OAuthHttp from "./signin/OAuthHttp.ts"
import * as SignInHttp from "./signin/SignInHttp.ts"
import * as SocialIdentityHttp from "./signin/SocialIdentityHttp.ts"
import * as AgentWalletHttp from "./wallets/AgentWalletHttp.ts"
import * as UserWalletsHttp from "./wallets/UserWalletsHttp.ts"
import * as VerificationHttp from "./verification/VerificationHttp.ts"
import * as WalletsHttp from "./signin/WalletsHttp.ts"

const groups = Layer.mergeAll(
  AccountsHttp.layer,
  RecoveryHttp.layer,
  ReferralsHttp.layer,
  SignInHttp.layer,
  AccessTokensHttp.layer,
  SessionsHttp.layer,
  ApiKeysHttp.layer,
  WebhookEndpointsHttp.layer,
  A2aHttp.layer,
  A2aTasksHttp.layer,
  AgentCardsHttp.layer,
  WalletsHttp.layer,
  UserWalletsHttp.layer,
  AgentWalletHttp.layer,
  OAuthHttp.layer,
  SocialIdentityHttp.layer,
  GatingHttp.layer,
  AgentsHttp.layer,
  AgentConfigHttp.layer,
  VerificationHttp.layer,
  AgentRecordsHttp.layer,
  InstancesHttp.layer,
  DeploymentsHttp.layer,
  InteractionHttp.layer,
  AttachmentsHttp.layer,
  MemoryHttp.layer,
  ConversationsHttp.layer,
  AgentOverviewsHttp.layer,
  ProvisioningHttp.layer,
  AgentLiveStreamsHttp.layer,
  LiveIngestHttp.layer,
  LivePlaybackHttp.layer,
  GatewayHttp.layer,
  OpenAiGatewayHttp.layer,
  McpHttp.layer,
  ChannelsHttp.layer,
  SchedulesHttp.layer,
  UploadedSkillsHttp.layer,
  McpServersHttp.layer,
  WebhooksHttp.layer,
  ChannelWebhooksHttp.layer,
  BillingHttp.layer,
  CheckoutHttp.layer,
  DevelopmentPlansHttp.layer,
  DeprecatedHttp.layer,
  AdministrationHttp.layer
)

const middlewares = Layer.mergeAll(
  SessionAuthHttp.layer,
  A2aSenderAuthHttp.layer,
  A2aPeerAuthHttp.layer,
  BearerAuthHttp.layer,
  AdministratorAuthHttp.layer,
  AgentOwnerHttp.layer,
  InstanceOwnerHttp.layer,
  RateLimitsHttp.layer,
  BotCheckHttp.layer
)

const table = [
  ...listRoutes(WebApi),
  ...healthPaths,
  ...DocumentationHttp.documentationRoutes,
  ...AgentSocketHttp.agentSocketRoutes,
  ...AgentSocketDocumentHttp.agentSocketDocumentRoutes,
  ...PagesHttp.pageRoutes,
  ...ConsoleHttp.consoleRoutes,
  ...InstancePagesHttp.instanceTicketRoutes
]

/** Routes of the web API that instances' subdomains serve too: conversations, and records of agents. */
const sharedWithInstances = new Set([
  "GET /api/agent",
  "POST /api/agent",
  "GET /api/agent/messages/:messageId/events",
  "GET /api/chat",
  "POST /api/chat",
  "GET /api/agents/:id/messages",
  "GET /api/agents/:id/logs",
  "GET /api/agents/:id/stats"
])

/** All routes of an instance's subdomain. */
export const instanceTable = [
  ...listRoutes(WebApi).filter(({ method, path }) => sharedWithInstances.has(`${method} ${path}`)),
  ...AgentSocketHttp.agentSocketRoutes,
  ...InstancePagesHttp.instancePageRoutes,
  ...AssetsHttp.assetRoutes
]

/** Larger limits: gateway bodies with a declared length, attachments, and files of live streams. */
const bodyLimit = (path: string, { headers }: HttpServerRequest.HttpServerRequest) => {
  if (path.startsWith(ingestPath)) return liveLimits.maximumFileBytes
  if (path === audioTranscriptionsPath) return maximumFormBytes
  if (isAttachmentUpload(path)) return attachmentLimits.imageBytes
  if (isOpenAiPath(path)) return openAiBodyLimit
  return path.startsWith(gatewayPath) && headers["content-length"] !== undefined ? gatewayBodyLimit : defaultBodyLimit
}

const moveSecretsToHeaders = (request: IncomingMessage) => {
  moveTokenToHeader(request)
  moveStreamKeyToHeader(request)
}

const makeDirectRoutes = Effect.gen(function* () {
  const routes: DirectRoutes = new Map([
    ["GET /api/auth/session", yield* SignInHttp.makeDirectSession],
    [`POST ${gatewayPath}`, yield* GatewayHttp.makeDirectCall]
  ])
  return routes
})

const routes = Layer.mergeAll(
  addApi(WebApi, makeDirectRoutes).pipe(Layer.provide(groups), Layer.provide(middlewares)),
  AgentSocketHttp.layer,
  AgentSocketDocumentHttp.layer,
  Layer.provide(PagesHttp.layer, Layer.merge(RateLimitsHttp.layer, BotCheckHttp.layer)),
  ConsoleHttp.layer,
  DocumentationHttp.layer(WebApi),
  PricedOpenApi.layer,
  healthRoutes
)

const makePipeline = (sendsSpans: boolean) =>
  Effect.flatMap(BillingSettings, ({ offersPlansWithoutPayment }) =>
    makeHttpPipeline(offersPlansWithoutPayment ? table : table.filter(({ path }) => path !== developmentPlanPath), {
      sameOrigin: true,
      instanceTable,
      bodyLimit,
      limitsUploads: true,
      reshapeErrors: (path) => reshapeErrors(path) ?? findA2aErrorShape(path) ?? findMcpErrorShape(path),
      caller: RequestCaller.makeClientCallerResolver,
      presentation: makePagePresentation,
      sendsSpans
    })
  )

/** The public listener. */
export const layer = (options: HttpListener.HttpListenerOptions & AgentSockets.AgentSocketsOptions) =>
  HttpListener.serve(routes, makePipeline(options.sendsSpans !== false)).pipe(
    withRedactedHeaders,
    // Closes its sockets before the listener closes their connections.
    Layer.provide(AgentSockets.layer(options)),
    // Separate from the private listener's, which rejects users' credentials.
    Layer.provide(Layer.provideMerge(Layer.fresh(IdempotencyMiddleware.Default), RequestCredentials.Default)),
    Layer.provide(Layer.merge(CredentialWatch.Default, InstanceCredentials.Default)),
    Layer.provide(sessionCookieLayer),
    Layer.provide(HttpListener.layer({ ...options, prepare: moveSecretsToHeaders }))
  )
