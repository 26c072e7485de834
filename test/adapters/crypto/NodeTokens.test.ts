import { Tokens } from "@berth/domain/secrets/Tokens"
import * as NodeTokens from "@berth/infra/crypto/NodeTokens"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck, Redacted } from "effect"

describe("Tokens", () => {
  it.effect("makes 256 random bits as base64url, never the same twice", () =>
    Effect.gen(function* () {
      const { make } = yield* Tokens
      const made = (yield* Effect.replicateEffect(make, 1000)).map(Redacted.value)
      assert.strictEqual(new Set(made).size, 1000)
      for (const token of made) assert.match(token, /^[A-Za-z0-9_-]{43}$/)
    }).pipe(Effect.provide(NodeTokens.layer))
  )

  it.effect("hashes by SHA-256, in hex", () =>
    Effect.gen(function* () {
      const { hash } = yield* Tokens
      assert.strictEqual(hash(Redacted.make("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }).pipe(Effect.provide(NodeTokens.layer))
  )

  it.effect.prop("tells tokens apart, of whatever length", [FastCheck.string(), FastCheck.string()], ([one, other]) =>
    Effect.gen(function* () {
      const { equal } = yield* Tokens
      assert.isTrue(equal(Redacted.make(one), Redacted.make(`${one}`)))
      assert.strictEqual(equal(Redacted.make(one), Redacted.make(other)), one === other)
      assert.isFalse(equal(Redacted.make(one), Redacted.make(`${one} `)))
    }).pipe(Effect.provide(NodeTokens.layer))
  )
})
