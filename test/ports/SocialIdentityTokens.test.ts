import { SocialIdentityTokens } from "@berth/domain/signin/social/SocialIdentity"
import * as JwksSocialIdentityTokens from "@berth/infra/oauth/JwksSocialIdentityTokens"
import * as SocialIdentityTokensTest from "@berth/infra/oauth/SocialIdentityTokensTest"
import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import { makeFakeIssuer, signToken } from "../fakes/identity/FakeIssuer.ts"

class Network extends Context.Tag("@berth/test/Network")<
  Network,
  { readonly issuer: string; readonly issue: (fid: number) => Effect.Effect<string> }
>() {}

const audience = "localhost:7331"

const live = Layer.unwrapScoped(
  Effect.map(makeFakeIssuer, ({ key, origin: { origin } }) =>
    Layer.merge(
      JwksSocialIdentityTokens.layer({ jwksUrl: new URL("/jwks", origin), issuer: origin, audience }),
      Layer.succeed(Network, {
        issuer: origin,
        issue: (fid) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const iat = Math.floor(now / 1_000)
            return Effect.promise(() => signToken(key, { sub: fid, iss: origin, aud: audience, iat, exp: iat + 60 }))
          })
      })
    )
  )
)

const test = Layer.merge(
  SocialIdentityTokensTest.layer,
  Layer.succeed(Network, {
    issuer: SocialIdentityTokensTest.fakeSocialIssuer,
    issue: (fid) => Effect.succeed(`fid:${fid}`)
  })
)

const subjects: ReadonlyArray<readonly [name: string, tokens: Layer.Layer<Network | SocialIdentityTokens>]> = [
  ["http", live],
  ["test Layer", test]
]

for (const [name, tokens] of subjects)
  layer(tokens, { excludeTestServices: true })(`SocialIdentityTokens (${name})`, (it) => {
    it.effect(`SocialIdentityTokens (${name}) verify a token of the network`, () =>
      Effect.gen(function* () {
        const { issue, issuer } = yield* Network
        const { verify } = yield* SocialIdentityTokens
        for (const fid of [1, 20_001])
          assert.deepStrictEqual(yield* verify(Redacted.make(yield* issue(fid))), {
            issuer,
            fid: String(fid),
            address: Option.none()
          })
      })
    )

    it.effect(`SocialIdentityTokens (${name}) reject any other token, and quote nothing`, () =>
      Effect.gen(function* () {
        const { verify } = yield* SocialIdentityTokens
        const valid = yield* (yield* Network).issue(1)
        for (const token of ["", "not-a-token", `${valid}x`, `x${valid}`, "a.b.c", "x".repeat(10_000)]) {
          const failure = yield* Effect.flip(verify(Redacted.make(token)))
          assert.strictEqual(failure._tag, "SocialTokenRejected", token)
          if (token !== "") assert.notInclude(failure.reason, token)
        }
      })
    )
  })
