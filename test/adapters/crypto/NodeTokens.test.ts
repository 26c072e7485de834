import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { Tokens } from "@berth/domain/secrets/Tokens"
import * as NodeDigests from "@berth/infra/crypto/NodeDigests"
import * as NodeTokens from "@berth/infra/crypto/NodeTokens"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck, Redacted } from "effect"

describe("Tokens", () => {
  it.effect("Tokens.make returns another 256 bits as base64url each time, also when its random bytes are used up", () =>
    Effect.gen(function* () {
      const { make } = yield* Tokens
      const made = (yield* Effect.replicateEffect(make, 1000)).map(Redacted.value)
      assert.strictEqual(new Set(made).size, 1000)
      for (const token of made) {
        assert.match(token, /^[\w-]{43}$/)
        assert.notMatch(token, /AAAAAAAAAA/)
      }
    }).pipe(Effect.provide(NodeTokens.layer))
  )
})

describe("Digests", () => {
  it.effect("Digests.hash returns SHA-256 in lower-case hex", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        hashSecret(yield* Digests, Redacted.make("abc")),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      )
    }).pipe(Effect.provide(NodeDigests.layer))
  )

  it.effect("Digests.hmac returns the HMAC-SHA256 of openssl", () =>
    Effect.gen(function* () {
      const { hmacSha256 } = yield* Digests
      // From `openssl dgst -sha256 -hmac whsec_1`.
      assert.strictEqual(
        hmacSha256(Redacted.make("whsec_1"), "1.{}", "hex"),
        "f1ee2c2aeec54799513f774d06f9a665c3082cf76906ba81a8f7e543d31efaed"
      )
    }).pipe(Effect.provide(NodeDigests.layer))
  )

  it.effect.prop("Digests.equals compares any secrets", [FastCheck.string(), FastCheck.string()], ([one, other]) =>
    Effect.gen(function* () {
      const { equal } = yield* Digests
      assert.isTrue(equal(Redacted.make(one), Redacted.make(`${one}`)))
      assert.strictEqual(equal(Redacted.make(one), Redacted.make(other)), one === other)
      assert.isFalse(equal(Redacted.make(one), Redacted.make(`${one} `)))
    }).pipe(Effect.provide(NodeDigests.layer))
  )
})
