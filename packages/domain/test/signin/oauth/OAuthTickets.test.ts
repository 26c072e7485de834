import { SecretBox, SecretUndecryptable } from "@berth/domain/secrets/SecretBox"
import { Digests } from "@berth/domain/secrets/Digests"
import { Tokens } from "@berth/domain/secrets/Tokens"
import { OAuthTickets } from "@berth/domain/signin/oauth/OAuthTickets"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Ref, TestClock } from "effect"

const prefix = "sealed:"

/** Seals by adding a prefix, so that tests can read the content. */
const box = Layer.succeed(SecretBox, {
  seal: (secret, context) => Effect.succeed(`${prefix}${context}:${Redacted.value(secret)}`),
  open: (sealed, context) =>
    sealed.startsWith(`${prefix}${context}:`)
      ? Effect.succeed(Redacted.make(sealed.slice(prefix.length + context.length + 1)))
      : Effect.fail(new SecretUndecryptable({ reason: "it is not sealed" }))
})

const tokens = Layer.effect(
  Tokens,
  Effect.map(Ref.make(0), (count) => ({
    make: Effect.map(
      Ref.updateAndGet(count, (n) => n + 1),
      (n) => Redacted.make(`token-${n}`)
    )
  }))
)
const digests = Layer.succeed(Digests, {
  sha256: () => "",
  hmacSha256: () => "",
  keccak256: () => "",
  equal: (a, b) => Redacted.value(a) === Redacted.value(b)
})

const live = OAuthTickets.Default.pipe(Layer.provide(Layer.mergeAll(box, tokens, digests)))

describe("OAuthTickets", () => {
  it.effect("OAuthTickets open for exactly ten minutes", () =>
    Effect.gen(function* () {
      const tickets = yield* OAuthTickets
      const { sealed, secrets } = yield* tickets.issue("oauthA", "/agents")
      const open = tickets.open(sealed, { provider: "oauthA", state: secrets.state })
      yield* TestClock.adjust("599999 millis")
      const opened = Option.getOrThrow(yield* open)
      assert.strictEqual(opened.callbackUrl, "/agents")
      for (const name of ["state", "nonce", "codeVerifier"] as const)
        assert.strictEqual(Redacted.value(opened[name]), Redacted.value(secrets[name]))
      yield* TestClock.adjust("1 millis")
      assert.isTrue(Option.isNone(yield* open))
    }).pipe(Effect.provide(live))
  )

  it.effect("OAuthTickets open only with their provider and state", () =>
    Effect.gen(function* () {
      const tickets = yield* OAuthTickets
      const { sealed, secrets } = yield* tickets.issue("oauthA", "/")
      const other = yield* tickets.issue("oauthA", "/")
      const { state } = secrets
      for (const [what, ticket, expected] of [
        ["another provider", sealed, { provider: "oauthB", state }],
        ["another state", sealed, { provider: "oauthA", state: other.secrets.state }],
        ["another ticket", other.sealed, { provider: "oauthA", state }],
        ["what is not sealed", Redacted.make("{}"), { provider: "oauthA", state }],
        ["what is no ticket", Redacted.make(`${prefix}oauth sign-in:{}`), { provider: "oauthA", state }]
      ] as const)
        assert.isTrue(Option.isNone(yield* tickets.open(ticket, expected)), what)
    }).pipe(Effect.provide(live))
  )

  it.effect("OAuthTickets contain distinct secrets", () =>
    Effect.gen(function* () {
      const tickets = yield* OAuthTickets
      const issued = yield* Effect.replicateEffect(tickets.issue("oauthB", "/"), 10)
      const all = issued.flatMap(({ secrets: { codeVerifier, nonce, state } }) =>
        [codeVerifier, nonce, state].map(Redacted.value)
      )
      assert.strictEqual(new Set(all).size, 30)
    }).pipe(Effect.provide(live))
  )
})
