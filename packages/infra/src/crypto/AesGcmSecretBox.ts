import { SecretBox, SecretUndecryptable } from "@berth/domain/secrets/SecretBox"
import { type Array, Data, Effect, Either, Layer, Option, Redacted } from "effect"
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"

/** A key that wraps the data keys of secrets. */
interface KeyEncryptionKey {
  readonly id: string
  /** 32 bytes. */
  readonly key: Redacted.Redacted<Buffer>
}

/** The first key seals; all keys open. */
export type KeyEncryptionKeys = Array.NonEmptyReadonlyArray<KeyEncryptionKey>

class KeyEncryptionKeysMalformed extends Data.TaggedError("KeyEncryptionKeysMalformed")<{
  readonly reason: string
}> {}

const keyLength = 32
const ivLength = 12
const tagLength = 16

const parseKey = (entry: string): Either.Either<KeyEncryptionKey, KeyEncryptionKeysMalformed> => {
  const [, id, encoded] = /^([A-Za-z0-9-]{1,32}):([A-Za-z0-9+/]+={0,2})$/.exec(entry.trim()) ?? []
  if (id === undefined || encoded === undefined)
    return Either.left(
      new KeyEncryptionKeysMalformed({
        reason: "each key must be id:base64, with letters, digits and hyphens in the id"
      })
    )
  const key = Buffer.from(encoded, "base64")
  return key.length === keyLength
    ? Either.right({ id, key: Redacted.make(key) })
    : Either.left(
        new KeyEncryptionKeysMalformed({ reason: `the key ${id} must have ${keyLength} bytes, not ${key.length}` })
      )
}

/** Parses `SECRETS_KEYS`: `id:base64`, comma-separated, the current key first. */
export const parseKeyEncryptionKeys = (
  text: Redacted.Redacted
): Either.Either<KeyEncryptionKeys, KeyEncryptionKeysMalformed> =>
  Either.gen(function* () {
    const [first = "", ...rest] = Redacted.value(text).split(",")
    const keys = [yield* parseKey(first), ...(yield* Either.all(rest.map(parseKey)))] as const
    return new Set(keys.map(({ id }) => id)).size === keys.length
      ? keys
      : yield* Either.left(new KeyEncryptionKeysMalformed({ reason: "two keys have the same id" }))
  })

/** Generates a key in the format of `SECRETS_KEYS`. */
export const generateKeyEncryptionKeys = (): Redacted.Redacted =>
  Redacted.make(`generated:${randomBytes(keyLength).toString("base64")}`)

const encrypt = (key: Buffer, plain: Buffer, context: string): Buffer => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(context))
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

const decrypt = (key: Buffer, sealed: Buffer, context: string): Buffer => {
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, ivLength), { authTagLength: tagLength })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(-tagLength))
  return Buffer.concat([decipher.update(sealed.subarray(ivLength, -tagLength)), decipher.final()])
}

const undecryptable = (reason: string) => new SecretUndecryptable({ reason })

/**
 * AES-256-GCM envelopes, `v1.<key id>.<wrapped data key>.<secret>`, with one data key per secret. Key id and context are
 * authenticated, so a sealed value cannot be moved.
 */
export const layer = (options: { readonly keys: KeyEncryptionKeys }): Layer.Layer<SecretBox> => {
  const [current] = options.keys
  const binding = (keyId: string, context: string) => `v1|${keyId}|${context}`

  return Layer.succeed(
    SecretBox,
    SecretBox.of({
      seal: (secret, context) =>
        Effect.sync(() => {
          const dataKey = randomBytes(keyLength)
          const bound = binding(current.id, context)
          const wrapped = encrypt(Redacted.value(current.key), dataKey, bound)
          const sealed = encrypt(dataKey, Buffer.from(Redacted.value(secret)), bound)
          return ["v1", current.id, wrapped.toString("base64url"), sealed.toString("base64url")].join(".")
        }),
      open: (sealed, context) =>
        Effect.gen(function* () {
          const [version, keyId = "", wrapped = "", secret = "", ...more] = sealed.split(".")
          if (version !== "v1" || more.length > 0) return yield* undecryptable("unknown format")
          const secretKey = yield* Option.match(Option.fromNullable(options.keys.find(({ id }) => id === keyId)), {
            onNone: () => undecryptable("its key is not in SECRETS_KEYS"),
            onSome: Effect.succeed
          })
          const bound = binding(keyId, context)
          return yield* Effect.try({
            try: () => {
              const dataKey = decrypt(Redacted.value(secretKey.key), Buffer.from(wrapped, "base64url"), bound)
              return Redacted.make(decrypt(dataKey, Buffer.from(secret, "base64url"), bound).toString("utf8"))
            },
            catch: () => undecryptable("it was sealed for another context or modified")
          })
        })
    })
  )
}
