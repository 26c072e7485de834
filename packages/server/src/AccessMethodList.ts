import { A2aRepository } from "@berth/domain/a2a/A2aRepository"
import { ApiKeys } from "@berth/domain/accounts/api-keys/ApiKeys"
import { PasswordCredentials } from "@berth/domain/accounts/password/PasswordCredentials"
import { Instances } from "@berth/domain/instances/Instances"
import { AccessMethods, makeAccessMethods } from "@berth/domain/recovery/claims/AccessMethods"
import { ScheduleRepository } from "@berth/domain/schedules/ScheduleRepository"
import { CredentialVault } from "@berth/domain/secrets/CredentialVault"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { LinkedIdentities } from "@berth/domain/signin/identities/LinkedIdentities"
import { Wallets } from "@berth/domain/signin/wallets/Wallets"
import { WalletPayments } from "@berth/domain/wallets/payments/WalletPayments"
import { UserWallets } from "@berth/domain/wallets/UserWallets"
import { WebhookEndpointRepository } from "@berth/domain/webhooks/WebhookEndpointRepository"
import { ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { UploadedSkillRepository } from "@berth/domain/skills/uploads/UploadedSkillRepository"
import { McpServerRepository } from "@berth/domain/skills/mcp/McpServerRepository"
import { Effect, Layer } from "effect"

/** All access methods of accounts. Every new access method must be added here. */
export const layer = Layer.effect(
  AccessMethods,
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const credentials = yield* PasswordCredentials
    const apiKeys = yield* ApiKeys
    const wallets = yield* Wallets
    const identities = yield* LinkedIdentities
    const instances = yield* Instances
    const vault = yield* CredentialVault
    const userWallets = yield* UserWallets
    const payments = yield* WalletPayments
    const endpoints = yield* WebhookEndpointRepository
    const schedules = yield* ScheduleRepository
    const skills = yield* UploadedSkillRepository
    const mcpServers = yield* McpServerRepository
    const outbox = yield* Outbox
    const a2a = yield* A2aRepository
    return makeAccessMethods([
      // First: waits for sessions that are adding another method, so that it is revoked too.
      { name: "sessions", revoke: (userId) => Effect.asVoid(sessions.revokeAll(userId)) },
      { name: "password", revoke: credentials.removePassword },
      { name: "mailed links", revoke: credentials.revokeResetLinks },
      { name: "API keys", revoke: apiKeys.revokeSince },
      { name: "wallets", revoke: wallets.unlinkAll },
      { name: "identities", revoke: identities.unlinkAll },
      { name: "gateway token", revoke: instances.revokeGatewayToken },
      // A channel token grants access to the agents, and the owner of a model key can read its calls at the provider.
      { name: "stored keys", revoke: vault.removeSince },
      // The platform that created the wallet has the key.
      { name: "supplied wallet key", revoke: userWallets.removeSuppliedSince },
      // An earlier holder may have instructed agents to spend.
      { name: "spend limits", revoke: payments.revoke },
      // Endpoints of an earlier holder would receive the owner's events.
      { name: "webhook endpoints", revoke: endpoints.removeSince },
      // An earlier holder may have scheduled instructions.
      { name: "schedules", revoke: schedules.removeSince },
      // An earlier holder may have uploaded code and instructions.
      {
        name: "uploaded skills",
        revoke: (userId, since) =>
          Effect.flatMap(skills.removeSince(userId, since), (removed) =>
            removed === 0 ? Effect.void : outbox.append(ReconfigureInstanceJob, { userId }, userId)
          )
      },
      // Tools of MCP servers receive contents of conversations.
      {
        name: "MCP servers",
        revoke: (userId, since) =>
          Effect.flatMap(mcpServers.removeSince(userId, since), (removed) =>
            removed === 0 ? Effect.void : outbox.append(ReconfigureInstanceJob, { userId }, userId)
          )
      },
      // An earlier holder may have allowed foreign senders.
      { name: "senders of messages", revoke: a2a.removeSettings },
      // Again, for sessions opened by a method during its revocation.
      { name: "new sessions", revoke: (userId) => Effect.asVoid(sessions.revokeAll(userId)) }
    ])
  })
)
