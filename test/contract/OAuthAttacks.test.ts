import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { generateKeyPair, SignJWT } from "jose"
import { cookiesOf, sessionOf, whoIs } from "../support/identity/Browser.ts"
import {
  app,
  clientId,
  clientSecret,
  failed,
  Forger,
  leadsTo,
  right,
  seconds,
  type Sign,
  signInBy,
  saying
} from "../support/identity/IssuedSignIn.ts"
import { newSigningKey, tokenBy, unsignedToken } from "../support/identity/Issuer.ts"
import * as App from "../support/WebApp.ts"

const forgeries: Readonly<Record<string, (given: Sign) => string | Promise<string>>> = {
  "signed by another key": async ({ claims, issuer }) =>
    tokenBy(await newSigningKey(), claims, { kid: issuer.key.kid }),
  "signed by a key that is not published": async ({ claims }) => tokenBy(await newSigningKey(), claims),
  "signed by nobody": ({ claims }) => unsignedToken(claims),
  "signed by the client secret": ({ claims }) =>
    new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(clientSecret)),
  "signed by the public key as a shared secret": ({ claims, issuer }) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: issuer.key.kid })
      .sign(new TextEncoder().encode(JSON.stringify(issuer.key.publicJwk))),
  "signed by another kind of key under the same id": async ({ claims, issuer }) => {
    const { privateKey } = await generateKeyPair("ES256")
    return new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: issuer.key.kid }).sign(privateKey)
  },
  "with its signature cut off": async (given) => (await right(given)).replace(/[^.]+$/, ""),
  "with other claims than were signed": async (given) => {
    const [header = "", , signature = ""] = (await right(given)).split(".")
    const claims = Buffer.from(JSON.stringify({ ...given.claims, sub: "somebody else" })).toString("base64url")
    return [header, claims, signature].join(".")
  },
  "of another issuer": saying(() => ({ iss: "https://accounts.example" })),
  "for another client": saying(() => ({ aud: "another" })),
  "for another client too, made for that one": saying(() => ({ aud: [clientId, "another"], azp: "another" })),
  "that is over": saying(() => ({ iat: seconds() - 7200, exp: seconds() - 3600 })),
  "that is never over": saying(() => ({ exp: undefined })),
  "that is not yet good": saying(() => ({ nbf: seconds() + 3600 })),
  "without a nonce": saying(() => ({ nonce: undefined })),
  "of another sign-in": saying(() => ({ nonce: "A".repeat(43) })),
  "of nobody": saying(() => ({ sub: undefined })),
  "of an empty subject": saying(() => ({ sub: "" })),
  "of an endless subject": saying(() => ({ sub: "s".repeat(300) })),
  "that is none": () => "a.b.c",
  "that is missing": () => ""
}

layer(app(), { excludeTestServices: true })("An ID token", (it) => {
  it.effect("that is right is taken", () =>
    Effect.gen(function* () {
      assert.isNotNull(yield* whoIs(yield* sessionOf(yield* signInBy(right))))
    })
  )

  for (const [what, forge] of Object.entries(forgeries))
    it.effect(`${what} proves nobody`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const count = sql`select (select count(*) from users) as users, (select count(*) from sessions) as sessions`
        const before = yield* count
        const answer = yield* signInBy(forge)
        assert.strictEqual(leadsTo(answer), failed("oauth_failed"))
        assert.isFalse(cookiesOf(answer).has((yield* App.WebApp).cookieName))
        assert.deepStrictEqual(yield* count, before)
      })
    )

  it.effect("that was good for one sign-in is not for another", () =>
    Effect.gen(function* () {
      let kept = ""
      yield* signInBy(async (given) => {
        kept = await right(given)
        return kept
      })
      assert.strictEqual(leadsTo(yield* signInBy(() => kept)), failed("oauth_failed"))
    })
  )

  it.effect("says whether the e-mail is verified, in the two ways there are", () =>
    Effect.gen(function* () {
      for (const [email_verified, outcome] of [
        [true, "302 /dashboard"],
        ["true", "302 /dashboard"],
        [false, failed("oauth_email_unverified")],
        ["false", failed("oauth_email_unverified")],
        [undefined, failed("oauth_email_unverified")],
        [1, failed("oauth_failed")],
        ["yes", failed("oauth_failed")]
      ] as const)
        assert.strictEqual(
          leadsTo(yield* signInBy(saying(() => ({ email_verified })))),
          outcome,
          String(email_verified)
        )
    })
  )

  it.effect("with an address that is none neither links nor makes an account", () =>
    Effect.gen(function* () {
      for (const email of [
        "",
        "ada",
        "ada@example.com, eve@example.com",
        "ada@example.com\u0000",
        "a\u0000@example.com"
      ])
        assert.strictEqual(leadsTo(yield* signInBy(saying(() => ({ email })))), failed("oauth_email_unverified"), email)
    })
  )
})

layer(app(), { excludeTestServices: true })("A mix-up of issuers", (it) => {
  it.effect("is noticed by who says that he answers", () =>
    Effect.gen(function* () {
      const issuer = yield* Forger
      issuer.describe({ authorization_response_iss_parameter_supported: true })
      assert.strictEqual(leadsTo(yield* signInBy(right)), failed("oauth_failed"))
      for (const [iss, outcome] of [
        [issuer.origin.origin, "302 /dashboard"],
        ["https://attacker.example", failed("oauth_failed")]
      ] as const)
        assert.strictEqual(leadsTo(yield* signInBy(right, { query: { iss } })), outcome)
    })
  )
})

for (const [what, description] of Object.entries({
  "calls itself another": { issuer: "https://accounts.example" },
  "sends people elsewhere without TLS": { authorization_endpoint: "http://accounts.example/authorize" }
}))
  layer(app(), { excludeTestServices: true })(`An issuer that ${what}`, (it) => {
    it.effect("is not used", () =>
      Effect.gen(function* () {
        ;(yield* Forger).describe(description)
        const { web } = yield* App.WebApp
        const answer = yield* web({ method: "GET", path: "/api/auth/oauthA" })
        assert.strictEqual(leadsTo(answer), failed("oauth_unavailable"))
      })
    )
  })

for (const endpoint of ["token_endpoint", "jwks_uri"])
  layer(app(), { excludeTestServices: true })(`An issuer whose ${endpoint} is elsewhere, without TLS`, (it) => {
    it.effect("is told no secrets", () =>
      Effect.gen(function* () {
        ;(yield* Forger).describe({ [endpoint]: "http://accounts.example/" })
        assert.strictEqual(leadsTo(yield* signInBy(right)), failed("oauth_unavailable"))
      })
    )
  })

layer(app(), { excludeTestServices: true })("An issuer's troubles", (it) => {
  it.effect("are no refusal, and are over when they are over", () =>
    Effect.gen(function* () {
      const issuer = yield* Forger
      const { web } = yield* App.WebApp
      const discovery = "/.well-known/openid-configuration"
      for (const how of ["hangs", "fails", "is cut", "redirects", "has no end", "speaks no JSON"] as const) {
        issuer.set(discovery, how)
        const answer = yield* web({ method: "GET", path: "/api/auth/oauthA" })
        assert.strictEqual(leadsTo(answer), failed("oauth_unavailable"), how)
      }
      issuer.set(discovery, null)
      const before = issuer.asked(discovery)
      for (const path of ["/jwks", "/token"] as const)
        for (const how of ["fails", "is cut", "has no end"] as const) {
          issuer.set(path, how)
          assert.strictEqual(leadsTo(yield* signInBy(right)), failed("oauth_unavailable"), `${path} ${how}`)
          issuer.set(path, null)
        }
      assert.strictEqual(leadsTo(yield* signInBy(right)), "302 /dashboard")
      // What it says of itself is asked for once.
      assert.strictEqual(issuer.asked(discovery), before + 1)
    })
  )
})

const few = { "sign-in": { count: 3, window: Duration.minutes(15) } }

layer(app({ limits: few }), { excludeTestServices: true })("The limit of sign-ins", (it) => {
  it.effect("counts those that fail, and not those that succeed or that this browser has not begun", () =>
    Effect.gen(function* () {
      const from = "192.0.2.30"
      for (let times = 0; times < 5; times++)
        assert.strictEqual(leadsTo(yield* signInBy(right, { from })), "302 /dashboard")
      for (let times = 0; times < 5; times++)
        assert.strictEqual(leadsTo(yield* signInBy(right, { from, query: { state: "x" } })), failed("oauth_state"))
      for (let times = 0; times < 3; times++)
        assert.strictEqual(leadsTo(yield* signInBy(() => "", { from })), failed("oauth_failed"))
      assert.strictEqual(leadsTo(yield* signInBy(right, { from })), failed("too_many_requests"))
      assert.strictEqual(leadsTo(yield* signInBy(right)), "302 /dashboard")
    })
  )
})
