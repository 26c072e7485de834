import { SocialIdentityTokens, SocialTokenRejected } from "@berth/domain/signin/social/SocialIdentity"
import { Context, Effect, Layer, type Redacted } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

/** Calls and behavior of the verifier of `layer`. */
export class SocialIdentityTokensTest extends Context.Tag("@berth/test/SocialIdentityTokensTest")<
  SocialIdentityTokensTest,
  TestPortHandle<Redacted.Redacted, SocialIdentityTokens["Type"]>
>() {}

/** Rejects every token, unless the behavior is replaced. */
export const layer: Layer.Layer<SocialIdentityTokens | SocialIdentityTokensTest> = Layer.effectContext(
  Effect.map(
    makeTestPort<Redacted.Redacted, SocialIdentityTokens["Type"]>({
      verify: () => new SocialTokenRejected({ reason: "the test accepts no token" })
    }),
    ({ handle, run }) =>
      Context.make(SocialIdentityTokens, { verify: (token) => run(token, ({ verify }) => verify(token)) }).pipe(
        Context.add(SocialIdentityTokensTest, handle)
      )
  )
)
