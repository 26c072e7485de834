import { SocialIdentityTokens, SocialTokenRejected } from "@berth/domain/signin/social/SocialIdentity"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

export const fakeSocialIssuer = "https://social.example"

/** Calls and behavior of the verifier of `layer`. */
export class SocialIdentityTokensTest extends Context.Tag("@berth/test/SocialIdentityTokensTest")<
  SocialIdentityTokensTest,
  TestPortHandle<Redacted.Redacted, SocialIdentityTokens["Type"]>
>() {}

/** Accepts tokens `fid:<sub>` for the user `sub` and rejects all others, unless the behavior is replaced. */
export const layer: Layer.Layer<SocialIdentityTokens | SocialIdentityTokensTest> = Layer.effectContext(
  Effect.map(
    makeTestPort<Redacted.Redacted, SocialIdentityTokens["Type"]>({
      verify: (token) => {
        const [, fid] = /^fid:(\d+)$/.exec(Redacted.value(token)) ?? []
        return fid === undefined
          ? new SocialTokenRejected({ reason: "not a token of the test" })
          : Effect.succeed({ issuer: fakeSocialIssuer, fid, address: Option.none() })
      }
    }),
    ({ handle, run }) =>
      Context.make(SocialIdentityTokens, { verify: (token) => run(token, ({ verify }) => verify(token)) }).pipe(
        Context.add(SocialIdentityTokensTest, handle)
      )
  )
)
