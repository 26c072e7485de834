import { adminRule, Admins } from "@berth/domain/accounts/Admins"
import { Effect, Layer, type Redacted } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import type { KeyEncryptionKeys } from "../crypto/SecretBox.ts"
import * as IdGenerator from "../crypto/IdGenerator.ts"
import * as SecretBox from "../crypto/SecretBox.ts"
import * as Tokens from "../crypto/Tokens.ts"
import { CannotRun } from "../process/RunProgram.ts"
import { adminEmailsOf, databaseUrlOf, keyEncryptionKeysOf } from "./Keys.ts"
import * as AnswerStreams from "../postgres/AnswerStreams.ts"
import * as AgentRepository from "../postgres/AgentRepository.ts"
import * as CardCustomerRepository from "../postgres/CardCustomerRepository.ts"
import * as BillingHistory from "../postgres/BillingHistory.ts"
import * as CardEvents from "../postgres/CardEvents.ts"
import * as Charging from "../postgres/Charging.ts"
import * as ConversationRepository from "../postgres/ConversationRepository.ts"
import * as CredentialRepository from "../postgres/CredentialRepository.ts"
import * as CreditPurchases from "../postgres/CreditPurchases.ts"
import * as IdempotencyKeys from "../postgres/IdempotencyKeys.ts"
import * as InstanceRepository from "../postgres/InstanceRepository.ts"
import * as LedgerAudit from "../postgres/LedgerAudit.ts"
import * as MailedTokenRepository from "../postgres/MailedTokenRepository.ts"
import * as MemoryRepository from "../postgres/MemoryRepository.ts"
import * as LinkedIdentityRepository from "../postgres/LinkedIdentityRepository.ts"
import * as Migrations from "../postgres/Migrations.ts"
import * as ModelUsage from "../postgres/ModelUsage.ts"
import * as OAuthStateRepository from "../postgres/OAuthStateRepository.ts"
import * as Outages from "../postgres/Outages.ts"
import * as OncePerKey from "../postgres/OncePerKey.ts"
import * as Outbox from "../postgres/Outbox.ts"
import * as PaymentRedemptions from "../postgres/PaymentRedemptions.ts"
import * as PostgresTransaction from "../postgres/PostgresTransaction.ts"
import * as PurchaseAttempts from "../postgres/PurchaseAttempts.ts"
import { isDatabaseRefused } from "../postgres/SchemaErrors.ts"
import * as ReferralRepository from "../postgres/ReferralRepository.ts"
import * as SessionRepository from "../postgres/SessionRepository.ts"
import * as SocialSessionRepository from "../postgres/SocialSessionRepository.ts"
import * as StorageEntitlements from "../postgres/StorageEntitlements.ts"
import * as SubscriptionRepository from "../postgres/SubscriptionRepository.ts"
import * as TurnKeys from "../postgres/TurnKeys.ts"
import * as UserRepository from "../postgres/UserRepository.ts"
import * as WalletNonceRepository from "../postgres/WalletNonceRepository.ts"
import * as WalletRepository from "../postgres/WalletRepository.ts"

export interface ProcessOptions {
  readonly maxConnections: number
  /** As the database's own views show it. */
  readonly applicationName: string
}

export interface StorageOptions extends ProcessOptions {
  readonly databaseUrl: Redacted.Redacted
  readonly keys: KeyEncryptionKeys
  readonly adminEmails: ReadonlyArray<string>
  /** In production only a verified address makes an administrator. */
  readonly verifiedAdminsOnly: boolean
}

/** Everything that is kept in PostgreSQL, on one pool, migrated; and what sealing and naming it takes. */
export const layer = (options: StorageOptions) =>
  Layer.mergeAll(
    PostgresTransaction.layer,
    UserRepository.layer,
    MailedTokenRepository.layer,
    ReferralRepository.layer,
    WalletRepository.layer,
    WalletNonceRepository.layer,
    LinkedIdentityRepository.layer,
    OAuthStateRepository.layer,
    SocialSessionRepository.layer,
    SessionRepository.layer,
    SubscriptionRepository.layer,
    AgentRepository.layer,
    InstanceRepository.layer,
    CredentialRepository.layer,
    ConversationRepository.layer,
    MemoryRepository.layer,
    AnswerStreams.layer,
    CardEvents.layer,
    Charging.layer,
    TurnKeys.layer,
    CardCustomerRepository.layer,
    PurchaseAttempts.layer,
    CreditPurchases.layer,
    BillingHistory.layer,
    StorageEntitlements.layer,
    LedgerAudit.layer,
    Outbox.layer,
    IdempotencyKeys.layer,
    OncePerKey.layer,
    PaymentRedemptions.layer,
    Outages.layer,
    ModelUsage.layer
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        IdGenerator.layer,
        Tokens.layer,
        SecretBox.layer({ keys: options.keys }),
        Layer.succeed(Admins, adminRule({ emails: options.adminEmails, verifiedOnly: options.verifiedAdminsOnly })),
        Migrations.layerMigrated({
          url: options.databaseUrl,
          maxConnections: options.maxConnections,
          applicationName: options.applicationName
        }).pipe(
          Layer.mapError((error) => (isDatabaseRefused(error) ? new CannotRun({ reason: error.message }) : error))
        )
      )
    )
  )

/** The same for a process with these settings. */
export const fromSettings = (settings: Settings, process: ProcessOptions) =>
  Layer.unwrapEffect(
    Effect.map(Effect.all([databaseUrlOf(settings), keyEncryptionKeysOf(settings)]), ([databaseUrl, keys]) =>
      layer({
        ...process,
        databaseUrl,
        keys,
        adminEmails: adminEmailsOf(settings),
        verifiedAdminsOnly: settings.environment === "production"
      })
    )
  )
