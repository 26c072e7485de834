import { OAuthProviders, type OAuthProviderName } from "@berth/domain/signin/oauth/OAuthProvider"
import * as OAuthProvidersTest from "@berth/infra/oauth/OAuthProvidersTest"
import * as SignInWiring from "@berth/infra/wiring/SignInWiring"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { makeFakeGitHub } from "../fakes/identity/FakeGitHub.ts"
import { oidcClient, startOidcProvider } from "../fakes/identity/OidcProvider.ts"
import { authorizeAtProvider } from "../support/identity/OAuthBrowser.ts"

/** Signs in an account at the provider of a URL; returns the query of its callback. */
class Browser extends Context.Tag("@berth/test/Browser")<
  Browser,
  (url: URL, account: string) => Effect.Effect<URLSearchParams>
>() {}

const appUrl = new URL("http://localhost:7330")
const callback = (name: OAuthProviderName) => `${appUrl.origin}/api/auth/${name}/callback`

const live = Layer.unwrapScoped(
  Effect.gen(function* () {
    const issuer = yield* startOidcProvider({
      accounts: { ada: { email: "ada@example.com", email_verified: true, name: "Ada" } },
      redirectUri: callback("oauthA"),
      emailIsIn: "ID token",
      secretGoes: "client_secret_post"
    })
    const emails = [{ email: "ada@example.com", primary: true, verified: true }]
    const gitHub = yield* makeFakeGitHub([{ id: 7, login: "ada", name: "Ada", emails }], callback("oauthB"))
    const at = (path: string) => new URL(path, gitHub.origin)
    const client = (clientId: string, secret: string) => Option.some({ clientId, clientSecret: Redacted.make(secret) })
    return SignInWiring.layer({
      appUrl,
      oauthA: { issuer, clientAuthentication: "client_secret_post", client: client(oidcClient.id, oidcClient.secret) },
      oauthB: {
        endpoints: {
          authorizeUrl: at("/login/oauth/authorize"),
          tokenUrl: at("/login/oauth/access_token"),
          userUrl: at("/user"),
          emailsUrl: at("/user/emails")
        },
        clientAuthentication: "client_secret_post",
        client: client(gitHub.client.id, gitHub.client.secret)
      },
      socialIdentity: { jwksUrl: issuer, issuer: issuer.origin, audience: Option.none() }
    })
  })
).pipe(
  Layer.merge(
    Layer.succeed(Browser, (url, account) =>
      Effect.map(authorizeAtProvider(url.href, account), ({ searchParams }) => searchParams)
    )
  )
)

const test = Layer.merge(
  OAuthProvidersTest.layer,
  Layer.succeed(Browser, (url, account) =>
    Effect.succeed(new URLSearchParams({ code: account, state: url.searchParams.get("state") ?? "" }))
  )
)

const secrets = {
  state: Redacted.make("state-0123456789abcdef"),
  nonce: Redacted.make("nonce-0123456789abcdef"),
  codeVerifier: Redacted.make("verifier-".padEnd(60, "0123456789abcdef"))
}

const subjects: ReadonlyArray<
  readonly [name: string, providers: Layer.Layer<Browser | OAuthProviders>, accounts: Record<OAuthProviderName, string>]
> = [
  ["http", live, { oauthA: "ada", oauthB: "7" }],
  ["test Layer", test, { oauthA: "ada", oauthB: "ada" }]
]

for (const [name, providers, accounts] of subjects)
  layer(providers, { excludeTestServices: true })(`OAuthProviders (${name})`, (it) => {
    for (const provider of ["oauthA", "oauthB"] as const) {
      const found = Effect.flatMap(OAuthProviders, (all) => Effect.orDie(all[provider]))

      it.effect(`OAuthProviders (${name}) identify the account that signs in at ${provider}`, () =>
        Effect.gen(function* () {
          const { authorizationUrl, identify } = yield* found
          const url = yield* authorizationUrl(secrets)
          assert.strictEqual(url.searchParams.get("state"), Redacted.value(secrets.state))
          const query = yield* (yield* Browser)(url, "ada")
          assert.strictEqual(query.get("state"), Redacted.value(secrets.state))
          const identity = yield* identify(Redacted.make(query), secrets)
          assert.deepInclude(identity, { provider, subject: accounts[provider] })
          assert.strictEqual(new URL(identity.issuer).origin, identity.issuer)
        })
      )

      it.effect(`OAuthProviders (${name}) reject a callback of ${provider} without a code, and quote nothing`, () =>
        Effect.gen(function* () {
          const { identify } = yield* found
          const query = new URLSearchParams({ error: "access_denied", state: Redacted.value(secrets.state) })
          const failure = yield* Effect.flip(identify(Redacted.make(query), secrets))
          assert.strictEqual(failure._tag, "OAuthResponseRejected")
          for (const secret of Object.values(secrets)) assert.notInclude(failure.reason, Redacted.value(secret))
        })
      )
    }
  })
