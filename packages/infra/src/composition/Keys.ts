import { Effect, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { join, resolve } from "node:path"
import type { Settings } from "../configuration/Settings.ts"
import { ensureSecret } from "../crypto/GeneratedKeys.ts"
import { generateJwtKey, parseJwtKey } from "../crypto/JwtKey.ts"
import { generateKeyEncryptionKeys, parseKeyEncryptionKeys } from "../crypto/SecretBox.ts"
import { generateTreasuryKey, treasuryAddress } from "../tempo/Treasury.ts"
import { CannotRun } from "../process/RunProgram.ts"

/*
 * Secrets that production must be given and development makes for itself, once, under DATA_DIR/keys.
 */

const directoryOf = (settings: Settings) => join(resolve(settings.dataDir), "keys")

const givenOrMade = (
  settings: Settings,
  given: Option.Option<Redacted.Redacted>,
  name: string,
  make: () => Redacted.Redacted
) =>
  (Option.isSome(given) ? Effect.succeed(given.value) : ensureSecret(directoryOf(settings), name, make)).pipe(
    Effect.mapError(({ message }) => new CannotRun({ reason: message }))
  )

/** Which database; `npm start` sets it to the embedded one. */
export const databaseUrlOf = (settings: Settings) =>
  Effect.mapError(
    settings.databaseUrl,
    () => new CannotRun({ reason: "DATABASE_URL is missing. `npm start` brings an embedded database." })
  )

/** What web, backend and worker show each other. */
export const internalApiKeyOf = (settings: Settings) =>
  givenOrMade(settings, settings.internalApiKey, "internal-api-key", () =>
    Redacted.make(randomBytes(32).toString("base64url"))
  )

export const keyEncryptionKeysOf = (settings: Settings) =>
  givenOrMade(settings, settings.secretsKeys, "secrets-keys", generateKeyEncryptionKeys).pipe(
    Effect.flatMap((text) =>
      Effect.mapError(
        parseKeyEncryptionKeys(text),
        ({ reason }) => new CannotRun({ reason: `SECRETS_KEYS: ${reason}` })
      )
    )
  )

/** What access tokens are signed by. */
export const jwtKeyOf = (settings: Settings) =>
  givenOrMade(settings, settings.jwtPrivateKey, "jwt-private-key", generateJwtKey).pipe(
    Effect.flatMap((text) =>
      Effect.mapError(parseJwtKey(text), ({ reason }) => new CannotRun({ reason: `JWT_PRIVATE_KEY ${reason}` }))
    )
  )

/** What challenges to pay are signed by. */
export const paymentSecretOf = (settings: Settings) =>
  givenOrMade(settings, settings.mpp.secret, "mpp-secret", () => Redacted.make(randomBytes(32).toString("base64url")))

/** Whom machines pay; in development a wallet of this installation, whose key is in the file. */
export const paymentRecipientOf = (settings: Settings) =>
  Option.match(settings.mpp.recipient, {
    onSome: Effect.succeed,
    onNone: () =>
      givenOrMade(settings, Option.none(), "mpp-treasury-key", generateTreasuryKey).pipe(
        Effect.flatMap((key) =>
          Effect.mapError(
            treasuryAddress(key),
            ({ reason }) => new CannotRun({ reason: `The treasury's key mpp-treasury-key ${reason}` })
          )
        )
      )
  })

const loopback = new Set(["127.0.0.1", "::1", "localhost"])

/** `ADMIN_EMAILS`; a development service that only this machine reaches has an owner to begin with. */
export const adminEmailsOf = (settings: Settings): ReadonlyArray<string> =>
  Option.getOrElse(settings.adminEmails, () =>
    settings.environment === "development" && loopback.has(settings.addresses.host) ? ["owner@berth.local"] : []
  )
