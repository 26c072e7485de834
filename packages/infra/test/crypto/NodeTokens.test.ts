import { Tokens } from "@berth/domain/secrets/Tokens"
import * as NodeTokens from "@berth/infra/crypto/NodeTokens"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"

it.effect("Tokens.make returns another 256 bits each time, also when its random bytes are used up", () =>
  Effect.gen(function* () {
    const tokens = yield* Tokens
    const made = yield* Effect.replicateEffect(Effect.map(tokens.make, Redacted.value), 1000)
    assert.strictEqual(new Set(made).size, made.length)
    for (const token of made) {
      assert.match(token, /^[\w-]{43}$/)
      assert.notMatch(token, /AAAAAAAAAA/)
    }
  }).pipe(Effect.provide(NodeTokens.layer))
)
