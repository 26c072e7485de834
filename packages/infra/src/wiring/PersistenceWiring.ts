import { makeAdministrators, Administrators } from "@berth/domain/accounts/Administrators"
import { UnitPolicy } from "@berth/domain/billing/units/UnitLedger"
import { type Duration, Effect, Layer, type Redacted } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import type { KeyEncryptionKeys } from "../crypto/AesGcmSecretBox.ts"
import * as UuidIdGenerator from "../crypto/UuidIdGenerator.ts"
import * as AesGcmSecretBox from "../crypto/AesGcmSecretBox.ts"
import * as NodeDigests from "../crypto/NodeDigests.ts"
import * as NodeTokens from "../crypto/NodeTokens.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"
import { resolveAdminEmails, requireDatabaseUrl, resolveKeyEncryptionKeys } from "./SecretsWiring.ts"
import * as InteractionStores from "../postgres/interaction/InteractionStores.ts"
import * as PostgresAuditLog from "../postgres/administration/PostgresAuditLog.ts"
import * as PostgresChannelConnections from "../postgres/channels/PostgresChannelConnections.ts"
import * as PostgresChats from "../postgres/channels/PostgresChats.ts"
import * as A2aStores from "../postgres/a2a/A2aStores.ts"
import * as PostgresWebhookDeliveryRepository from "../postgres/webhooks/PostgresWebhookDeliveryRepository.ts"
import * as PostgresWebhookEndpointRepository from "../postgres/webhooks/PostgresWebhookEndpointRepository.ts"
import * as PostgresAgentLog from "../postgres/instances/PostgresAgentLog.ts"
import * as PostgresUploadedSkillRepository from "../postgres/skills/PostgresUploadedSkillRepository.ts"
import * as PostgresMcpServerRepository from "../postgres/skills/PostgresMcpServerRepository.ts"
import * as PostgresAgentRunRepository from "../postgres/schedules/PostgresAgentRunRepository.ts"
import * as PostgresScheduleRepository from "../postgres/schedules/PostgresScheduleRepository.ts"
import * as PostgresUnclaimedAgents from "../postgres/provisioning/PostgresUnclaimedAgents.ts"
import * as PostgresLiveStreamRepository from "../postgres/provisioning/PostgresLiveStreamRepository.ts"
import * as PostgresAgentRepository from "../postgres/agents/PostgresAgentRepository.ts"
import * as PostgresClaimNoticeRepository from "../postgres/recovery/PostgresClaimNoticeRepository.ts"
import * as BillingStores from "../postgres/billing/BillingStores.ts"
import * as PostgresCredentialRepository from "../postgres/secrets/PostgresCredentialRepository.ts"
import * as PostgresIdempotencyKeys from "../postgres/limits/PostgresIdempotencyKeys.ts"
import * as PostgresIdempotentExecution from "../postgres/limits/PostgresIdempotentExecution.ts"
import * as PostgresInstanceRepository from "../postgres/instances/PostgresInstanceRepository.ts"
import * as AccountsStores from "../postgres/accounts/AccountsStores.ts"
import * as SignInStores from "../postgres/signin/SignInStores.ts"
import * as Migrations from "../postgres/Migrations.ts"
import * as PostgresModelUsage from "../postgres/ai/PostgresModelUsage.ts"
import * as PostgresDomainEvents from "../postgres/events/PostgresDomainEvents.ts"
import * as PostgresOutageDetector from "../postgres/PostgresOutageDetector.ts"
import * as PostgresOutbox from "../postgres/jobs/PostgresOutbox.ts"
import * as PostgresPaymentRedemptions from "../postgres/gateway/PostgresPaymentRedemptions.ts"
import * as PostgresStoredResponses from "../postgres/gateway/PostgresStoredResponses.ts"
import * as PostgresTransaction from "../postgres/persistence/PostgresTransaction.ts"
import * as PostgresWalletPaymentRepository from "../postgres/wallets/PostgresWalletPaymentRepository.ts"
import * as PostgresUserWalletRepository from "../postgres/wallets/PostgresUserWalletRepository.ts"
import { isDatabaseRefused } from "../postgres/SchemaErrors.ts"
import * as VerificationStores from "../postgres/verification/VerificationStores.ts"
import * as PostgresSessionRepository from "../postgres/sessions/PostgresSessionRepository.ts"

interface DatabasePoolOptions {
  readonly maxConnections: number
  /** `application_name` in pg_stat_activity. */
  readonly applicationName: string
  /** Timeouts of a statement and of the wait for a connection; default: the pool's. */
  readonly statementTimeout?: Duration.Duration
}

interface PersistenceOptions extends DatabasePoolOptions {
  readonly databaseUrl: Redacted.Redacted
  readonly keys: KeyEncryptionKeys
  readonly adminEmails: ReadonlyArray<string>
  /** True in production: rights that depend on an email address require a verified one. */
  readonly verifiedEmailsOnly: boolean
}

/** Stores of all contexts on one migrated pool, with ids, tokens, digests and sealing. */
export const layer = ({ adminEmails, databaseUrl, keys, verifiedEmailsOnly, ...pool }: PersistenceOptions) =>
  Layer.mergeAll(
    PostgresTransaction.layer,
    PostgresCredentialRepository.layer,
    PostgresIdempotencyKeys.layer,
    PostgresIdempotentExecution.layer,
    PostgresOutbox.layer,
    PostgresDomainEvents.layer,
    PostgresOutageDetector.layer,
    PostgresSessionRepository.layer,
    AccountsStores.layer,
    PostgresClaimNoticeRepository.layer,
    SignInStores.layer,
    PostgresModelUsage.layer,
    BillingStores.layer,
    PostgresAgentRepository.layer,
    PostgresInstanceRepository.layer,
    PostgresAgentLog.layer,
    PostgresChannelConnections.layer,
    PostgresChats.layer,
    PostgresScheduleRepository.layer,
    PostgresAgentRunRepository.layer,
    PostgresUploadedSkillRepository.layer,
    PostgresMcpServerRepository.layer,
    PostgresWebhookEndpointRepository.layer,
    PostgresWebhookDeliveryRepository.layer,
    A2aStores.layer,
    PostgresLiveStreamRepository.layer,
    PostgresUnclaimedAgents.layer,
    InteractionStores.layer,
    PostgresPaymentRedemptions.layer,
    PostgresStoredResponses.layer,
    PostgresAuditLog.layer,
    PostgresUserWalletRepository.layer,
    VerificationStores.layer,
    PostgresWalletPaymentRepository.layer
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        UuidIdGenerator.layer,
        NodeTokens.layer,
        NodeDigests.layer,
        AesGcmSecretBox.layer({ keys }),
        Layer.succeed(Administrators, makeAdministrators({ emails: adminEmails, verifiedOnly: verifiedEmailsOnly })),
        Layer.succeed(UnitPolicy, { confirmedEmailRequired: verifiedEmailsOnly }),
        Migrations.layerMigrated({ url: databaseUrl, ...pool }).pipe(
          Layer.mapError((error) =>
            isDatabaseRefused(error) ? new ProgramMisconfigured({ reason: error.message }) : error
          )
        )
      )
    )
  )

export const fromSettings = (settings: Settings, process: DatabasePoolOptions) =>
  Layer.unwrapEffect(
    Effect.map(Effect.all([requireDatabaseUrl(settings), resolveKeyEncryptionKeys(settings)]), ([databaseUrl, keys]) =>
      layer({
        ...process,
        databaseUrl,
        keys,
        adminEmails: resolveAdminEmails(settings),
        verifiedEmailsOnly: settings.environment === "production"
      })
    )
  )
