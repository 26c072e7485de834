import { SecretBox } from "@berth/domain/secrets/SecretBox"
import * as AesGcmSecretBox from "@berth/infra/crypto/AesGcmSecretBox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck, Redacted } from "effect"
import { randomBytes } from "node:crypto"

const key = (id: string) => ({ id, key: Redacted.make(randomBytes(32)) })
const [old, current] = [key("k1"), key("k2")]
const box = AesGcmSecretBox.layer({ keys: [current, old] })

const text = FastCheck.string({ unit: "grapheme" })

describe("SecretBox", () => {
  it.effect.prop(
    "SecretBox opens its secrets in the same context only",
    [text, text, text],
    ([secret, context, other]) =>
      Effect.gen(function* () {
        const { open, seal } = yield* SecretBox
        const sealed = yield* seal(Redacted.make(secret), context)
        assert.strictEqual(Redacted.value(yield* open(sealed, context)), secret)
        if (other !== context) assert.strictEqual((yield* Effect.flip(open(sealed, other)))._tag, "SecretUndecryptable")
      }).pipe(Effect.provide(box))
  )

  it.effect("SecretBox seals a secret differently each time, without showing it", () =>
    Effect.gen(function* () {
      const { seal } = yield* SecretBox
      const secret = "sk-live-0123456789"
      const [one, two] = [yield* seal(Redacted.make(secret), "a"), yield* seal(Redacted.make(secret), "a")]
      assert.notStrictEqual(one, two)
      for (const hidden of [secret, Buffer.from(secret).toString("base64url")]) assert.notInclude(one, hidden)
      assert.match(one, /^v1\.k2\./)
    }).pipe(Effect.provide(box))
  )

  it.effect.prop(
    "SecretBox rejects any changed byte",
    [FastCheck.nat(), FastCheck.integer({ min: 1, max: 63 })],
    ([at, by]) =>
      Effect.gen(function* () {
        const { open, seal } = yield* SecretBox
        const sealed = yield* seal(Redacted.make("a secret of some length"), "row:1")
        const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        const [version = "", id = "", wrapped = "", secret = ""] = sealed.split(".")
        // The last letter of each part has unused bits.
        const part = at % 2 === 0 ? wrapped : secret
        const place = at % (part.length - 1)
        const changed =
          part.slice(0, place) + letters.charAt((letters.indexOf(part.charAt(place)) + by) % 64) + part.slice(place + 1)
        const parts = at % 2 === 0 ? [version, id, changed, secret] : [version, id, wrapped, changed]
        yield* Effect.flip(open(parts.join("."), "row:1"))
      }).pipe(Effect.provide(box))
  )

  it.effect("SecretBox does not open a secret with the data key of another, or under another key's id", () =>
    Effect.gen(function* () {
      const { open, seal } = yield* SecretBox
      const parts = (yield* seal(Redacted.make("one"), "row")).split(".")
      const others = (yield* seal(Redacted.make("two"), "row")).split(".")
      for (const mixed of [
        [parts[0], parts[1], others[2], parts[3]],
        [parts[0], "k1", parts[2], parts[3]],
        [...parts, "more"],
        parts.slice(0, 3),
        ["v2", ...parts.slice(1)]
      ])
        yield* Effect.flip(open(mixed.join("."), "row"))
    }).pipe(Effect.provide(box))
  )

  it.effect.prop("SecretBox rejects any input with a reason that discloses no key", [FastCheck.string()], ([sealed]) =>
    Effect.gen(function* () {
      const { open } = yield* SecretBox
      const { reason } = yield* Effect.flip(open(sealed, "a"))
      assert.include(["unknown format", "its key is not in SECRETS_KEYS"], reason)
    }).pipe(Effect.provide(box))
  )

  it.effect("SecretBox opens secrets of an older key until that key is removed", () =>
    Effect.gen(function* () {
      const sealed = yield* Effect.flatMap(SecretBox, ({ seal }) => seal(Redacted.make("old secret"), "row")).pipe(
        Effect.provide(AesGcmSecretBox.layer({ keys: [old] }))
      )
      const opening = Effect.flatMap(SecretBox, ({ open }) => open(sealed, "row"))
      assert.strictEqual(Redacted.value(yield* Effect.provide(opening, box)), "old secret")
      const without = AesGcmSecretBox.layer({ keys: [current] })
      const { reason } = yield* Effect.flip(Effect.provide(opening, without))
      assert.strictEqual(reason, "its key is not in SECRETS_KEYS")
      const another = AesGcmSecretBox.layer({ keys: [key("k1")] })
      yield* Effect.flip(Effect.provide(opening, another))
    })
  )
})
