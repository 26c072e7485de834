import { Effect, type Either, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { join, resolve } from "node:path"
import type { Settings } from "../configuration/Settings.ts"
import { ensureSecret } from "../crypto/GeneratedKeys.ts"
import { generateJwtKey, parseJwtKey } from "../crypto/JwtKey.ts"
import { generateKeyEncryptionKeys, parseKeyEncryptionKeys } from "../crypto/AesGcmSecretBox.ts"
import { isLoopback } from "../net/ListenHosts.ts"
import { generateTreasuryKey, deriveTreasuryAddress } from "../tempo/TreasuryKey.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"

/* Secrets that production requires and development generates once in DATA_DIR/keys. */

const keysDirectory = (settings: Settings) => join(resolve(settings.dataDir), "keys")

const generate = (settings: Settings, name: string, make: () => Redacted.Redacted) =>
  Effect.mapError(
    ensureSecret(keysDirectory(settings), name, make),
    ({ message }) => new ProgramMisconfigured({ reason: message })
  )

const resolveSecret = (
  settings: Settings,
  setting: Option.Option<Redacted.Redacted>,
  name: string,
  make: () => Redacted.Redacted
) => (Option.isSome(setting) ? Effect.succeed(setting.value) : generate(settings, name, make))

/** Returns the given value, or the parsed content of a generated file. */
const resolveParsed = <A>(
  settings: Settings,
  setting: Option.Option<A>,
  name: string,
  make: () => Redacted.Redacted,
  parse: (text: Redacted.Redacted) => Either.Either<A, { readonly reason: string }>
) =>
  Option.match(setting, {
    onSome: Effect.succeed,
    onNone: () =>
      Effect.flatMap(generate(settings, name, make), (text) =>
        Effect.mapError(
          parse(text),
          ({ reason }) => new ProgramMisconfigured({ reason: `The generated key ${name} is unusable: ${reason}` })
        )
      )
  })

/** `DATABASE_URL`; `npm start` sets it to the embedded database. */
export const requireDatabaseUrl = (settings: Settings) =>
  Effect.mapError(
    settings.databaseUrl,
    () => new ProgramMisconfigured({ reason: "Set `DATABASE_URL`, or use `npm start` with its embedded database." })
  )

/** Authenticates web API, backend and worker to each other. */
export const resolveInternalApiKey = (settings: Settings) =>
  resolveSecret(settings, settings.internalApiKey, "internal-api-key", () =>
    Redacted.make(randomBytes(32).toString("base64url"))
  )

export const resolveKeyEncryptionKeys = (settings: Settings) =>
  resolveParsed(settings, settings.secretsKeys, "secrets-keys", generateKeyEncryptionKeys, parseKeyEncryptionKeys)

/** Signs access tokens. */
export const resolveJwtKey = (settings: Settings) =>
  resolveParsed(settings, settings.jwtPrivateKey, "jwt-private-key", generateJwtKey, parseJwtKey)

/** Signs payment challenges. */
export const resolvePaymentSecret = (settings: Settings) =>
  resolveSecret(settings, settings.mpp.secret, "mpp-secret", () => Redacted.make(randomBytes(32).toString("base64url")))

/** Recipient of machine payments; in development, a generated wallet of this installation. */
export const resolvePaymentRecipient = (settings: Settings) =>
  resolveParsed(settings, settings.mpp.recipient, "mpp-treasury-key", generateTreasuryKey, deriveTreasuryAddress)

/** `ADMIN_EMAILS`; in development, a service on loopback has a default administrator. */
export const resolveAdminEmails = (settings: Settings): ReadonlyArray<string> =>
  Option.getOrElse(settings.adminEmails, () =>
    settings.environment === "development" && isLoopback(settings.addresses.host) ? ["owner@berth.local"] : []
  )
