import {
  type OAuthProvider,
  type OAuthProviderName,
  OAuthProviders,
  OAuthResponseRejected
} from "@berth/domain/signin/oauth/OAuthProvider"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

interface OAuthCall {
  readonly provider: OAuthProviderName
  readonly method: keyof OAuthProvider
}

/** Calls and behavior of the providers of `layer`. */
export class OAuthProvidersTest extends Context.Tag("@berth/test/OAuthProvidersTest")<
  OAuthProvidersTest,
  TestPortHandle<OAuthCall, Record<OAuthProviderName, OAuthProvider>>
>() {}

const makeProvider = (name: OAuthProviderName): OAuthProvider => ({
  authorizationUrl: ({ state }) =>
    Effect.succeed(new URL(`https://${name}.example/authorize?state=${Redacted.value(state)}`)),
  identify: (query) =>
    Effect.mapBoth(Effect.fromNullable(Redacted.value(query).get("code")), {
      onFailure: () => new OAuthResponseRejected({ reason: "the callback has no code" }),
      onSuccess: (subject) => ({
        provider: name,
        issuer: `https://${name.toLowerCase()}.example`,
        subject,
        email: Option.none(),
        name: Option.none()
      })
    })
})

/**
 * Two providers that use the code of a callback as subject, without email and name, unless the behavior is replaced.
 */
export const layer: Layer.Layer<OAuthProviders | OAuthProvidersTest> = Layer.effectContext(
  Effect.map(
    makeTestPort<OAuthCall, Record<OAuthProviderName, OAuthProvider>>({
      oauthA: makeProvider("oauthA"),
      oauthB: makeProvider("oauthB")
    }),
    ({ handle, run }) => {
      const provider = (name: OAuthProviderName): Option.Option<OAuthProvider> =>
        Option.some({
          authorizationUrl: (secrets) =>
            run({ provider: name, method: "authorizationUrl" }, (behavior) => behavior[name].authorizationUrl(secrets)),
          identify: (query, secrets) =>
            run({ provider: name, method: "identify" }, (behavior) => behavior[name].identify(query, secrets))
        })
      return Context.make(OAuthProviders, { oauthA: provider("oauthA"), oauthB: provider("oauthB") }).pipe(
        Context.add(OAuthProvidersTest, handle)
      )
    }
  )
)
