import { Effect, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { join, resolve } from "node:path"
import type { Settings } from "../configuration/Settings.ts"
import { ensureSecret } from "../crypto/GeneratedKeys.ts"
import { generateJwtKey, parseJwtKey } from "../crypto/JwtKey.ts"
import { generateKeyEncryptionKeys, parseKeyEncryptionKeys } from "../crypto/AesGcmSecretBox.ts"
import { generateTreasuryKey, deriveTreasuryAddress } from "../tempo/TreasuryKey.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"

/*
 * Secrets that production requires and development generates once under DATA_DIR/keys.
 */

const keysDirectory = (settings: Settings) => join(resolve(settings.dataDir), "keys")

const resolveSecret = (
  settings: Settings,
  given: Option.Option<Redacted.Redacted>,
  name: string,
  make: () => Redacted.Redacted
) =>
  (Option.isSome(given) ? Effect.succeed(given.value) : ensureSecret(keysDirectory(settings), name, make)).pipe(
    Effect.mapError(({ message }) => new ProgramMisconfigured({ reason: message }))
  )

/** `DATABASE_URL`; `npm start` sets it to the embedded database. */
export const requireDatabaseUrl = (settings: Settings) =>
  Effect.mapError(
    settings.databaseUrl,
    () => new ProgramMisconfigured({ reason: "Set `DATABASE_URL`, or use `npm start` with its embedded database." })
  )

/** Authenticates web, backend and worker to each other. */
export const resolveInternalApiKey = (settings: Settings) =>
  resolveSecret(settings, settings.internalApiKey, "internal-api-key", () =>
    Redacted.make(randomBytes(32).toString("base64url"))
  )

export const resolveKeyEncryptionKeys = (settings: Settings) =>
  resolveSecret(settings, settings.secretsKeys, "secrets-keys", generateKeyEncryptionKeys).pipe(
    Effect.flatMap((text) =>
      Effect.mapError(
        parseKeyEncryptionKeys(text),
        ({ reason }) => new ProgramMisconfigured({ reason: `SECRETS_KEYS: ${reason}` })
      )
    )
  )

/** Signs access tokens. */
export const resolveJwtKey = (settings: Settings) =>
  resolveSecret(settings, settings.jwtPrivateKey, "jwt-private-key", generateJwtKey).pipe(
    Effect.flatMap((text) =>
      Effect.mapError(
        parseJwtKey(text),
        ({ reason }) => new ProgramMisconfigured({ reason: `JWT_PRIVATE_KEY ${reason}` })
      )
    )
  )

/** Signs payment challenges. */
export const resolvePaymentSecret = (settings: Settings) =>
  resolveSecret(settings, settings.mpp.secret, "mpp-secret", () => Redacted.make(randomBytes(32).toString("base64url")))

/** Recipient of machine payments; in development a generated wallet of this installation. */
export const resolvePaymentRecipient = (settings: Settings) =>
  Option.match(settings.mpp.recipient, {
    onSome: Effect.succeed,
    onNone: () =>
      resolveSecret(settings, Option.none(), "mpp-treasury-key", generateTreasuryKey).pipe(
        Effect.flatMap((key) =>
          Effect.mapError(
            deriveTreasuryAddress(key),
            ({ reason }) => new ProgramMisconfigured({ reason: `The treasury key mpp-treasury-key ${reason}` })
          )
        )
      )
  })

const loopback = new Set(["127.0.0.1", "::1", "localhost"])

/** `ADMIN_EMAILS`; a development service on loopback has a default administrator. */
export const resolveAdminEmails = (settings: Settings): ReadonlyArray<string> =>
  Option.getOrElse(settings.adminEmails, () =>
    settings.environment === "development" && loopback.has(settings.addresses.host) ? ["owner@berth.local"] : []
  )
