import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { generateKeyPair, SignJWT } from "jose"
import { parseSetCookies, sessionCookieOf, findSessionUser } from "../support/identity/OAuthBrowser.ts"
import {
  issuerAppLayer,
  oidcClientId,
  oidcClientSecret,
  failureRedirect,
  IssuerUnderTest,
  describeRedirect,
  validToken,
  epochSeconds,
  type TokenRequest,
  signInWithToken,
  tokenWithClaims
} from "../support/identity/IssuedTokenSignIn.ts"
import { makeSigningKey, signToken, makeUnsignedToken } from "../fakes/identity/FakeIssuer.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"

const forgeries: Readonly<Record<string, (tokenRequest: TokenRequest) => string | Promise<string>>> = {
  "signed by another key": async ({ claims, issuer }) =>
    signToken(await makeSigningKey(), claims, { kid: issuer.key.kid }),
  "signed by a key that is not published": async ({ claims }) => signToken(await makeSigningKey(), claims),
  "signed by nobody": ({ claims }) => makeUnsignedToken(claims),
  "signed by the client secret": ({ claims }) =>
    new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(oidcClientSecret)),
  "signed by the public key as a shared secret": ({ claims, issuer }) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: issuer.key.kid })
      .sign(new TextEncoder().encode(JSON.stringify(issuer.key.publicJwk))),
  "signed by another kind of key under the same id": async ({ claims, issuer }) => {
    const { privateKey } = await generateKeyPair("ES256")
    return new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: issuer.key.kid }).sign(privateKey)
  },
  "with its signature cut off": async (tokenRequest) => (await validToken(tokenRequest)).replace(/[^.]+$/, ""),
  "with other claims than were signed": async (tokenRequest) => {
    const [header = "", , signature = ""] = (await validToken(tokenRequest)).split(".")
    const claims = Buffer.from(JSON.stringify({ ...tokenRequest.claims, sub: "somebody else" })).toString("base64url")
    return [header, claims, signature].join(".")
  },
  "of another issuer": tokenWithClaims(() => ({ iss: "https://accounts.example" })),
  "for another client": tokenWithClaims(() => ({ aud: "another" })),
  "for another client too, made for that one": tokenWithClaims(() => ({
    aud: [oidcClientId, "another"],
    azp: "another"
  })),
  "that is over": tokenWithClaims(() => ({ iat: epochSeconds() - 7200, exp: epochSeconds() - 3600 })),
  "that is never over": tokenWithClaims(() => ({ exp: undefined })),
  "that is not yet good": tokenWithClaims(() => ({ nbf: epochSeconds() + 3600 })),
  "without a nonce": tokenWithClaims(() => ({ nonce: undefined })),
  "of another sign-in": tokenWithClaims(() => ({ nonce: "A".repeat(43) })),
  "of nobody": tokenWithClaims(() => ({ sub: undefined })),
  "of an empty subject": tokenWithClaims(() => ({ sub: "" })),
  "of an endless subject": tokenWithClaims(() => ({ sub: "s".repeat(300) })),
  "that is none": () => "a.b.c",
  "that is missing": () => ""
}

layer(issuerAppLayer(), { excludeTestServices: true })("An ID token", (it) => {
  it.effect("An ID token is accepted when valid", () =>
    Effect.gen(function* () {
      assert.isNotNull(yield* findSessionUser(yield* sessionCookieOf(yield* signInWithToken(validToken))))
    })
  )

  for (const [what, forge] of Object.entries(forgeries))
    it.effect(`An ID token ${what} is rejected`, () =>
      Effect.gen(function* () {
        const count = sql`select (select count(*) from users) as users, (select count(*) from sessions) as sessions`
        const before = yield* count
        const answer = yield* signInWithToken(forge)
        assert.strictEqual(describeRedirect(answer), failureRedirect("oauth_failed"))
        assert.isFalse(parseSetCookies(answer).has((yield* App.TestApp).cookieName))
        assert.deepStrictEqual(yield* count, before)
      })
    )

  it.effect("An ID token of one sign-in is rejected in another", () =>
    Effect.gen(function* () {
      let kept = ""
      yield* signInWithToken(async (tokenRequest) => {
        kept = await validToken(tokenRequest)
        return kept
      })
      assert.strictEqual(describeRedirect(yield* signInWithToken(() => kept)), failureRedirect("oauth_failed"))
    })
  )

  it.effect("An ID token encodes email_verified as a boolean or as text", () =>
    Effect.gen(function* () {
      for (const [email_verified, outcome] of [
        [true, "302 /dashboard"],
        ["true", "302 /dashboard"],
        [false, failureRedirect("oauth_email_unverified")],
        ["false", failureRedirect("oauth_email_unverified")],
        [undefined, failureRedirect("oauth_email_unverified")],
        [1, failureRedirect("oauth_failed")],
        ["yes", failureRedirect("oauth_failed")]
      ] as const)
        assert.strictEqual(
          describeRedirect(yield* signInWithToken(tokenWithClaims(() => ({ email_verified })))),
          outcome,
          String(email_verified)
        )
    })
  )

  it.effect("An ID token with a malformed email neither links nor creates an account", () =>
    Effect.gen(function* () {
      for (const email of [
        "",
        "ada",
        "ada@example.com, eve@example.com",
        "ada@example.com\u0000",
        "a\u0000@example.com"
      ])
        assert.strictEqual(
          describeRedirect(yield* signInWithToken(tokenWithClaims(() => ({ email })))),
          failureRedirect("oauth_email_unverified"),
          email
        )
    })
  )
})

layer(issuerAppLayer(), { excludeTestServices: true })("A mix-up of issuers", (it) => {
  it.effect("A mix-up of issuers is detected by the iss parameter", () =>
    Effect.gen(function* () {
      const issuer = yield* IssuerUnderTest
      issuer.changeMetadata({ authorization_response_iss_parameter_supported: true })
      assert.strictEqual(describeRedirect(yield* signInWithToken(validToken)), failureRedirect("oauth_failed"))
      for (const [iss, outcome] of [
        [issuer.origin.origin, "302 /dashboard"],
        ["https://attacker.example", failureRedirect("oauth_failed")]
      ] as const)
        assert.strictEqual(describeRedirect(yield* signInWithToken(validToken, { query: { iss } })), outcome)
    })
  )
})

for (const [what, description] of Object.entries({
  "calls itself another": { issuer: "https://accounts.example" },
  "sends people elsewhere without TLS": { authorization_endpoint: "http://accounts.example/authorize" }
}))
  layer(issuerAppLayer(), { excludeTestServices: true })(`An issuer that ${what}`, (it) => {
    it.effect(`An issuer that ${what} is not used for sign-ins`, () =>
      Effect.gen(function* () {
        ;(yield* IssuerUnderTest).changeMetadata(description)
        const answer = yield* App.web({ method: "GET", path: "/api/auth/oauthA" })
        assert.strictEqual(describeRedirect(answer), failureRedirect("oauth_unavailable"))
      })
    )
  })

for (const endpoint of ["token_endpoint", "jwks_uri"])
  layer(issuerAppLayer(), { excludeTestServices: true })(
    `An issuer whose ${endpoint} is elsewhere, without TLS`,
    (it) => {
      it.effect("A hostile issuer receives no secrets", () =>
        Effect.gen(function* () {
          ;(yield* IssuerUnderTest).changeMetadata({ [endpoint]: "http://accounts.example/" })
          assert.strictEqual(describeRedirect(yield* signInWithToken(validToken)), failureRedirect("oauth_unavailable"))
        })
      )
    }
  )

layer(issuerAppLayer(), { excludeTestServices: true })("An issuer outage", (it) => {
  it.effect("An issuer outage is reported as unavailable and ends with the outage", () =>
    Effect.gen(function* () {
      const issuer = yield* IssuerUnderTest
      const discovery = "/.well-known/openid-configuration"
      for (const how of ["hangs", "fails", "is cut", "redirects", "has no end", "speaks no JSON"] as const) {
        issuer.setFault(discovery, how)
        const answer = yield* App.web({ method: "GET", path: "/api/auth/oauthA" })
        assert.strictEqual(describeRedirect(answer), failureRedirect("oauth_unavailable"), how)
      }
      issuer.setFault(discovery, null)
      const before = issuer.requestCount(discovery)
      for (const path of ["/jwks", "/token"] as const)
        for (const how of ["fails", "is cut", "has no end"] as const) {
          issuer.setFault(path, how)
          assert.strictEqual(
            describeRedirect(yield* signInWithToken(validToken)),
            failureRedirect("oauth_unavailable"),
            `${path} ${how}`
          )
          issuer.setFault(path, null)
        }
      assert.strictEqual(describeRedirect(yield* signInWithToken(validToken)), "302 /dashboard")
      // The metadata is read once.
      assert.strictEqual(issuer.requestCount(discovery), before + 1)
    })
  )
})

const few = { "sign-in": { count: 3, window: Duration.minutes(15) } }

layer(issuerAppLayer({ limits: few }), { excludeTestServices: true })("The sign-in limit", (it) => {
  it.effect("The sign-in limit counts failed OAuth sign-ins, and neither successes nor foreign callbacks", () =>
    Effect.gen(function* () {
      const from = "192.0.2.30"
      for (let times = 0; times < 5; times++)
        assert.strictEqual(describeRedirect(yield* signInWithToken(validToken, { from })), "302 /dashboard")
      for (let times = 0; times < 5; times++)
        assert.strictEqual(
          describeRedirect(yield* signInWithToken(validToken, { from, query: { state: "x" } })),
          failureRedirect("oauth_state")
        )
      for (let times = 0; times < 3; times++)
        assert.strictEqual(
          describeRedirect(yield* signInWithToken(() => "", { from })),
          failureRedirect("oauth_failed")
        )
      assert.strictEqual(
        describeRedirect(yield* signInWithToken(validToken, { from })),
        failureRedirect("rate_limit_exceeded")
      )
      assert.strictEqual(describeRedirect(yield* signInWithToken(validToken)), "302 /dashboard")
    })
  )
})
