import { loadSettings } from "@berth/infra/configuration/SettingsLoader"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Option, Redacted } from "effect"

const faultsOf = (environment: Record<string, string>) =>
  Effect.map(Effect.either(loadSettings(environment)), (loaded) =>
    Either.match(loaded, { onLeft: ({ faults }) => faults, onRight: () => [] })
  )

describe("settings of identity providers", () => {
  it.effect("Settings of identity providers default to Google, GitHub and Farcaster without clients", () =>
    Effect.gen(function* () {
      const { oauthA, oauthB, socialIdentity } = yield* loadSettings({})
      assert.strictEqual(oauthA.issuer.href, "https://accounts.google.com/")
      assert.strictEqual(oauthB.endpoints.emailsUrl.href, "https://api.github.com/user/emails")
      assert.strictEqual(socialIdentity.issuer, "https://auth.farcaster.xyz")
      assert.isTrue(Option.isNone(oauthA.client) && Option.isNone(oauthB.client))
      assert.isTrue(Option.isNone(socialIdentity.audience))
    })
  )

  it.effect("Settings of identity providers redact a client's secret", () =>
    Effect.gen(function* () {
      const { oauthB } = yield* loadSettings({ OAUTH_B_CLIENT_ID: "id", OAUTH_B_CLIENT_SECRET: "hunter2" })
      const client = Option.getOrThrow(oauthB.client)
      assert.deepStrictEqual([client.clientId, Redacted.value(client.clientSecret)], ["id", "hunter2"])
      assert.notInclude(JSON.stringify(client), "hunter2")
    })
  )

  it.effect("Settings of identity providers select the client authentication of each provider", () =>
    Effect.gen(function* () {
      const defaults = yield* loadSettings({})
      assert.deepStrictEqual(
        [defaults.oauthA.clientAuthentication, defaults.oauthB.clientAuthentication],
        ["client_secret_basic", "client_secret_post"]
      )
      const { oauthA } = yield* loadSettings({ OAUTH_A_CLIENT_AUTH: "client_secret_post" })
      assert.strictEqual(oauthA.clientAuthentication, "client_secret_post")
      const faults = yield* faultsOf({ OAUTH_B_CLIENT_AUTH: "private_key_jwt" })
      assert.isTrue(
        faults.some((fault) => fault.includes("OAUTH_B_CLIENT_AUTH")),
        faults.join()
      )
    })
  )

  it.effect("Settings of identity providers require id and secret of a client", () =>
    Effect.gen(function* () {
      for (const provider of ["A", "B"])
        for (const [present, missing] of [
          ["ID", "SECRET"],
          ["SECRET", "ID"]
        ]) {
          const faults = yield* faultsOf({ [`OAUTH_${provider}_CLIENT_${present}`]: "x" })
          assert.isTrue(
            faults.some((fault) => fault.includes(`OAUTH_${provider}_CLIENT_${missing}`)),
            faults.join()
          )
        }
    })
  )

  it.effect("Settings of identity providers accept http for this machine only", () =>
    Effect.gen(function* () {
      const names = [
        "OAUTH_A_ISSUER",
        "OAUTH_B_AUTHORIZE_URL",
        "OAUTH_B_TOKEN_URL",
        "OAUTH_B_USER_URL",
        "OAUTH_B_EMAILS_URL",
        "SOCIAL_IDENTITY_JWKS_URL"
      ]
      for (const name of names) {
        for (const url of [
          "http://127.0.0.1:5000/x",
          "http://localhost:5000",
          "http://[::1]:5000",
          "https://a.example"
        ])
          assert.deepStrictEqual(yield* faultsOf({ [name]: url }), [], `${name} ${url}`)
        for (const url of [
          "http://a.example",
          "http://127.0.0.1.evil.example",
          "ftp://a.example",
          "a.example",
          "javascript:1"
        ])
          assert.isTrue(
            (yield* faultsOf({ [name]: url })).some((fault) => fault.includes(name)),
            `${name} ${url}`
          )
      }
    })
  )
})
