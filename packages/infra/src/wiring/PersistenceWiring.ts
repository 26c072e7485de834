import { makeAdministrators, Administrators } from "@berth/domain/accounts/Administrators"
import { UnitLedger, UnitPolicy } from "@berth/domain/billing/units/UnitLedger"
import { type Duration, Effect, Layer, type Redacted } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import type { KeyEncryptionKeys } from "../crypto/AesGcmSecretBox.ts"
import * as UuidIdGenerator from "../crypto/UuidIdGenerator.ts"
import * as AesGcmSecretBox from "../crypto/AesGcmSecretBox.ts"
import * as NodeDigests from "../crypto/NodeDigests.ts"
import * as NodeTokens from "../crypto/NodeTokens.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"
import { resolveAdminEmails, requireDatabaseUrl, resolveKeyEncryptionKeys } from "./SecretsWiring.ts"
import * as PostgresAnswerStreams from "../postgres/interaction/PostgresAnswerStreams.ts"
import * as PostgresAgentRepository from "../postgres/agents/PostgresAgentRepository.ts"
import * as PostgresClaimNoticeRepository from "../postgres/recovery/PostgresClaimNoticeRepository.ts"
import * as PostgresCardCustomerRepository from "../postgres/billing/PostgresCardCustomerRepository.ts"
import * as PostgresBillingHistory from "../postgres/billing/PostgresBillingHistory.ts"
import * as PostgresCardEventRepository from "../postgres/billing/PostgresCardEventRepository.ts"
import * as PostgresReservationRepository from "../postgres/billing/PostgresReservationRepository.ts"
import * as PostgresConversationRepository from "../postgres/interaction/PostgresConversationRepository.ts"
import * as PostgresCredentialRepository from "../postgres/secrets/PostgresCredentialRepository.ts"
import * as PostgresCreditGrants from "../postgres/billing/PostgresCreditGrants.ts"
import * as PostgresCreditPurchases from "../postgres/billing/PostgresCreditPurchases.ts"
import * as PostgresIdempotencyKeys from "../postgres/limits/PostgresIdempotencyKeys.ts"
import * as PostgresInstanceRepository from "../postgres/instances/PostgresInstanceRepository.ts"
import * as PostgresLedgerAudit from "../postgres/billing/PostgresLedgerAudit.ts"
import * as PostgresMailedTokenRepository from "../postgres/accounts/PostgresMailedTokenRepository.ts"
import * as PostgresMemoryRepository from "../postgres/interaction/PostgresMemoryRepository.ts"
import * as PostgresLinkedIdentityRepository from "../postgres/signin/PostgresLinkedIdentityRepository.ts"
import * as Migrations from "../postgres/Migrations.ts"
import * as PostgresModelUsage from "../postgres/ai/PostgresModelUsage.ts"
import * as PostgresOAuthStateRepository from "../postgres/signin/PostgresOAuthStateRepository.ts"
import * as PostgresOutageDetector from "../postgres/PostgresOutageDetector.ts"
import * as PostgresIdempotentExecution from "../postgres/limits/PostgresIdempotentExecution.ts"
import * as PostgresOutbox from "../postgres/jobs/PostgresOutbox.ts"
import * as PostgresPaymentRedemptions from "../postgres/gateway/PostgresPaymentRedemptions.ts"
import * as PostgresTransaction from "../postgres/persistence/PostgresTransaction.ts"
import * as PostgresPurchaseAttempts from "../postgres/billing/PostgresPurchaseAttempts.ts"
import { isDatabaseRefused } from "../postgres/SchemaErrors.ts"
import * as PostgresReferralRepository from "../postgres/accounts/PostgresReferralRepository.ts"
import * as PostgresSessionRepository from "../postgres/sessions/PostgresSessionRepository.ts"
import * as PostgresSocialSessionRepository from "../postgres/signin/PostgresSocialSessionRepository.ts"
import * as PostgresStorageEntitlements from "../postgres/billing/PostgresStorageEntitlements.ts"
import * as PostgresSubscriptionRepository from "../postgres/billing/PostgresSubscriptionRepository.ts"
import * as PostgresTurnRepository from "../postgres/interaction/PostgresTurnRepository.ts"
import * as PostgresUserRepository from "../postgres/accounts/PostgresUserRepository.ts"
import * as PostgresWalletNonceRepository from "../postgres/signin/PostgresWalletNonceRepository.ts"
import * as PostgresWalletRepository from "../postgres/signin/PostgresWalletRepository.ts"

export interface DatabasePoolOptions {
  readonly maxConnections: number
  /** `application_name` in pg_stat_activity. */
  readonly applicationName: string
  /** Limit of a statement and of the wait for a connection; the pool's defaults when absent. */
  readonly statementTimeout?: Duration.Duration
}

export interface PersistenceOptions extends DatabasePoolOptions {
  readonly databaseUrl: Redacted.Redacted
  readonly keys: KeyEncryptionKeys
  readonly adminEmails: ReadonlyArray<string>
  /** True in production: rights that depend on an email address require a verified one. */
  readonly verifiedEmailsOnly: boolean
}

/** All PostgreSQL adapters on one migrated pool, with ids, tokens, digests and sealing. */
export const layer = (options: PersistenceOptions) =>
  Layer.mergeAll(
    PostgresTransaction.layer,
    PostgresUserRepository.layer,
    PostgresMailedTokenRepository.layer,
    PostgresClaimNoticeRepository.layer,
    PostgresReferralRepository.layer,
    PostgresWalletRepository.layer,
    PostgresWalletNonceRepository.layer,
    PostgresLinkedIdentityRepository.layer,
    PostgresOAuthStateRepository.layer,
    PostgresSocialSessionRepository.layer,
    PostgresSessionRepository.layer,
    PostgresSubscriptionRepository.layer,
    PostgresAgentRepository.layer,
    PostgresInstanceRepository.layer,
    PostgresCredentialRepository.layer,
    PostgresConversationRepository.layer,
    PostgresMemoryRepository.layer,
    PostgresAnswerStreams.layer,
    PostgresCardEventRepository.layer,
    UnitLedger.Default.pipe(
      Layer.provideMerge(PostgresReservationRepository.layer),
      Layer.provide(Layer.succeed(UnitPolicy, { confirmedEmailRequired: options.verifiedEmailsOnly }))
    ),
    PostgresTurnRepository.layer,
    PostgresCardCustomerRepository.layer,
    PostgresPurchaseAttempts.layer,
    PostgresCreditGrants.layer,
    PostgresCreditPurchases.layer,
    PostgresBillingHistory.layer,
    PostgresStorageEntitlements.layer,
    PostgresLedgerAudit.layer,
    PostgresOutbox.layer,
    PostgresIdempotencyKeys.layer,
    PostgresIdempotentExecution.layer,
    PostgresPaymentRedemptions.layer,
    PostgresOutageDetector.layer,
    PostgresModelUsage.layer
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        UuidIdGenerator.layer,
        NodeTokens.layer,
        NodeDigests.layer,
        AesGcmSecretBox.layer({ keys: options.keys }),
        Layer.succeed(
          Administrators,
          makeAdministrators({ emails: options.adminEmails, verifiedOnly: options.verifiedEmailsOnly })
        ),
        Migrations.layerMigrated({
          url: options.databaseUrl,
          maxConnections: options.maxConnections,
          applicationName: options.applicationName,
          ...(options.statementTimeout === undefined ? {} : { statementTimeout: options.statementTimeout })
        }).pipe(
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
