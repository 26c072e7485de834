import { Email } from "@berth/domain/shared/Email"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { OAuthTickets } from "@berth/domain/signin/oauth/OAuthTickets"
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import {
  startSignIn,
  followCallback,
  parseSetCookies,
  authorizeAtProvider,
  sessionCookieOf,
  signInWithProvider,
  findSessionUser
} from "../support/identity/OAuthBrowser.ts"
import { type GitHubAccount, type FakeGitHub, makeFakeGitHub } from "../fakes/identity/FakeGitHub.ts"
import { denyingAccount, type OidcAccount, oidcClient, startOidcProvider } from "../fakes/identity/OidcProvider.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"

const appUrl = "http://localhost:7310"
const callbackA = `${appUrl}/api/auth/oauthA/callback`
const callbackB = `${appUrl}/api/auth/oauthB/callback`

const ada: OidcAccount = { email: "ada@example.com", email_verified: true, name: "Ada Lovelace" }
const accounts: Readonly<Record<string, OidcAccount>> = {
  ada,
  many: { email: "many@example.com", email_verified: true },
  unnamed: { email: "unnamed@example.com", email_verified: true, name: "\u202e" },
  unverified: { email: "unverified@example.com", email_verified: false },
  unsaid: { email: "unsaid@example.com" },
  nameless: {},
  walleted: { email: "0x00@wallet.localhost", email_verified: true },
  socialite: { email: "usr_0@social.localhost", email_verified: true },
  parallel: { email: "parallel@example.com", email_verified: true },
  moving: { email: "moving@example.com", email_verified: true },
  original: { email: "reused@example.com", email_verified: true },
  successor: { email: "Reused@example.com", email_verified: true }
}

const emailOf = (local: string, more: Partial<GitHubAccount["emails"][number]> = {}) => ({
  email: `${local}@example.com`,
  primary: true,
  verified: true,
  ...more
})
const people: ReadonlyArray<GitHubAccount> = [
  { id: 1, login: "ada", name: "Ada", emails: [emailOf("ADA")] },
  {
    id: 2,
    login: "grace",
    name: null,
    emails: [emailOf("grace", { verified: false }), emailOf("hopper", { primary: false })]
  },
  { id: 3, login: "nobody", name: null, emails: [emailOf("nobody", { verified: false })] },
  { id: 4, login: "parallel", name: null, emails: [emailOf("parallel")] },
  { id: 5, login: "solo", name: "Solo", emails: [emailOf("solo")] }
]

class GitHub extends Context.Tag("@berth/test/GitHub")<GitHub, FakeGitHub>() {}

const app = (emailIsIn: "ID token" | "userinfo", secretGoes: "client_secret_basic" | "client_secret_post") =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const issuer = yield* startOidcProvider({ accounts, redirectUri: callbackA, emailIsIn, secretGoes })
      const gitHub = yield* makeFakeGitHub(people, callbackB)
      const at = (path: string) => new URL(path, gitHub.origin)
      return App.layer({
        appUrl,
        oauthA: {
          issuer,
          clientAuthentication: secretGoes,
          client: Option.some({ clientId: oidcClient.id, clientSecret: Redacted.make(oidcClient.secret) })
        },
        oauthB: {
          endpoints: {
            authorizeUrl: at("/login/oauth/authorize"),
            tokenUrl: at("/login/oauth/access_token"),
            userUrl: at("/user"),
            emailsUrl: at("/user/emails")
          },
          client: Option.some({ clientId: gitHub.client.id, clientSecret: Redacted.make(gitHub.client.secret) })
        },
        providerTimeout: Duration.seconds(3)
      }).pipe(Layer.merge(Layer.succeed(GitHub, gitHub)))
    })
  )

const leadsTo = (answer: { readonly status: number; readonly headers: { readonly location?: string | undefined } }) =>
  `${answer.status} ${answer.headers.location ?? ""}`

const failed = (code: string) => `302 /login?error=${code}`

const userOf = (email: string) =>
  Effect.gen(function* () {
    const found = yield* (yield* UserRepository).findByEmail(Email.make(email))
    return Option.getOrNull(Option.map(found, ({ user }) => user))
  })

const register = (email: string, password = "correct horse battery") =>
  App.web({ method: "POST", path: "/api/register", json: { email, password } })

const byPassword = (email: string, password = "correct horse battery") =>
  App.web({ method: "POST", path: "/api/auth/callback/credentials", json: { email, password } })

layer(app("ID token", "client_secret_post"), { excludeTestServices: true })("OAuth sign-in", (it) => {
  for (const [provider, account, email, name] of [
    ["oauthA", "ada", "ada@example.com", "Ada Lovelace"],
    ["oauthB", "solo", "solo@example.com", "Solo"]
  ] as const)
    it.effect(
      `OAuth sign-in at ${provider} creates an account with a verified email and no password, and finds it again`,
      () =>
        Effect.gen(function* () {
          const first = yield* signInWithProvider(provider, account)
          assert.strictEqual(leadsTo(first), "302 /dashboard")
          const cookie = yield* sessionCookieOf(first)
          const who = yield* findSessionUser(cookie)
          assert.deepInclude(who, { email, name })
          const user = (yield* userOf(email)) ?? assert.fail("no account")
          assert.isNotNull(user.emailVerifiedAt)
          assert.isTrue(Option.isNone(yield* (yield* UserRepository).findPasswordHash(user.id)))
          // The client has a new session after every sign-in.
          const second = yield* signInWithProvider(provider, account, { cookie })
          assert.deepStrictEqual(yield* findSessionUser(yield* sessionCookieOf(second)), who)
          assert.isNull(yield* findSessionUser(cookie))
          const users = yield* UserRepository
          yield* users.setSuspendedAt(user.id, yield* DateTime.now)
          assert.strictEqual(leadsTo(yield* signInWithProvider(provider, account)), failed("account_suspended"))
          yield* users.setSuspendedAt(user.id, null)
        })
    )

  it.effect("OAuth sign-in sends PKCE, state and nonce, and keeps them in an HttpOnly cookie", () =>
    Effect.gen(function* () {
      for (const provider of ["oauthA", "oauthB"] as const) {
        const { answer, location } = yield* startSignIn(provider)
        const query = new URL(location).searchParams
        assert.strictEqual(query.get("response_type"), "code")
        assert.strictEqual(query.get("redirect_uri"), provider === "oauthA" ? callbackA : callbackB)
        assert.strictEqual(query.get("code_challenge_method"), "S256")
        for (const name of ["state", "code_challenge", ...(provider === "oauthA" ? ["nonce"] : [])])
          assert.match(query.get(name) ?? "", /^[\w-]{43}$/, name)
        const [line = "", ...more] = answer.headers["set-cookie"] ?? []
        assert.isEmpty(more)
        assert.match(line, new RegExp(`^berth_${provider.toLowerCase()}_7310=[^;]{100,3000};`))
        for (const attribute of ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"])
          assert.include(line.split("; "), attribute)
        assert.notInclude(line, query.get("state") ?? "")
        assert.strictEqual(answer.headers["cache-control"], "no-store")
      }
    })
  )

  it.effect("OAuth sign-in redirects to the callback URL only within the service", () =>
    Effect.gen(function* () {
      for (const [callbackUrl, location] of [
        ["/agents?x=1#top", "/agents?x=1#top"],
        [`${appUrl}/pricing`, "/pricing"],
        ["https://evil.example/", "/dashboard"],
        ["//evil.example", "/dashboard"],
        ["/\\evil.example", "/dashboard"],
        ["/.//evil.example", "/dashboard"],
        [`${appUrl}//evil.example`, "/dashboard"],
        ["/%09/evil.example", "/%09/evil.example"],
        ["/\t/evil.example", "/dashboard"],
        ["javascript:alert(1)", "/dashboard"],
        [`${appUrl}@evil.example/`, "/dashboard"],
        [`/${"a".repeat(2_000)}`, "/dashboard"]
      ] as const) {
        const answer = yield* signInWithProvider("oauthA", "many", { callbackUrl })
        assert.strictEqual(leadsTo(answer), `302 ${location}`, callbackUrl)
        assert.strictEqual(new URL(answer.headers.location ?? "", appUrl).origin, appUrl)
      }
    })
  )

  it.effect("OAuth sign-in links the account with the same email in any case, for both providers", () =>
    Effect.gen(function* () {
      const byA = yield* findSessionUser(yield* sessionCookieOf(yield* signInWithProvider("oauthA", "ada")))
      const byB = yield* findSessionUser(yield* sessionCookieOf(yield* signInWithProvider("oauthB", "ada")))
      assert.deepStrictEqual(byB, byA)
      const links =
        yield* sql`select provider, subject from linked_identities where user_id = ${byA?.id ?? ""} order by 1`
      assert.deepStrictEqual(links, [
        { provider: "oauthA", subject: "ada" },
        { provider: "oauthB", subject: "1" }
      ])
    })
  )

  it.effect("OAuth sign-in identifies a linked user by subject after the email has changed", () =>
    Effect.gen(function* () {
      const first = yield* sessionCookieOf(yield* signInWithProvider("oauthA", "moving"))
      const json = { email: "moved@example.com" }
      const changed = yield* App.web({ method: "POST", path: "/api/settings", json, headers: { cookie: first } })
      assert.strictEqual(changed.status, 200, changed.text)
      const again = yield* findSessionUser(yield* sessionCookieOf(yield* signInWithProvider("oauthA", "moving")))
      assert.strictEqual(again?.email, "moved@example.com")
    })
  )

  it.effect("OAuth sign-in refuses a new subject whose email belongs to another subject of the same issuer", () =>
    Effect.gen(function* () {
      const owner = yield* findSessionUser(yield* sessionCookieOf(yield* signInWithProvider("oauthA", "original")))
      const refused = yield* signInWithProvider("oauthA", "successor")
      assert.strictEqual(leadsTo(refused), failed("oauth_subject_conflict"))
      assert.isUndefined(parseSetCookies(refused).get((yield* App.TestApp).cookieName))
      const again = yield* signInWithProvider("oauthA", "original")
      assert.deepStrictEqual(yield* findSessionUser(yield* sessionCookieOf(again)), owner)
      assert.deepStrictEqual(yield* sql`select subject from linked_identities where user_id = ${owner?.id ?? ""}`, [
        { subject: "original" }
      ])
    })
  )

  it.effect("OAuth sign-in accepts only verified emails of GitHub, the primary one first", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        (yield* findSessionUser(yield* sessionCookieOf(yield* signInWithProvider("oauthB", "grace"))))?.email,
        "hopper@example.com"
      )
      assert.strictEqual(leadsTo(yield* signInWithProvider("oauthB", "nobody")), failed("oauth_email_unverified"))
      assert.isNull(yield* userOf("nobody@example.com"))
    })
  )

  it.effect("OAuth sign-in neither links nor creates an account for an unverified, missing or reserved email", () =>
    Effect.gen(function* () {
      yield* register("unverified@example.com")
      for (const account of ["unverified", "unsaid", "nameless", "walleted", "socialite"]) {
        const answer = yield* signInWithProvider("oauthA", account)
        assert.strictEqual(leadsTo(answer), failed("oauth_email_unverified"), account)
        assert.isFalse(parseSetCookies(answer).has((yield* App.TestApp).cookieName))
        if (account !== "unverified") assert.isNull(yield* userOf(accounts[account]?.email ?? ""))
      }
      assert.strictEqual((yield* byPassword("unverified@example.com")).status, 200)
    })
  )

  it.effect("OAuth sign-in uses the email as the name of a user without a visible name", () =>
    Effect.gen(function* () {
      const who = yield* findSessionUser(yield* sessionCookieOf(yield* signInWithProvider("oauthA", "unnamed")))
      assert.strictEqual(who?.name, "unnamed@example.com")
    })
  )

  it.effect("OAuth sign-in redirects a denied sign-in to /login and consumes its state", () =>
    Effect.gen(function* () {
      for (const [provider, account] of [
        ["oauthA", denyingAccount],
        ["oauthB", "unknown"]
      ] as const) {
        const begun = yield* startSignIn(provider)
        const back = yield* authorizeAtProvider(begun.location, account)
        const answer = yield* followCallback(back, begun.cookie)
        assert.strictEqual(leadsTo(answer), failed("oauth_denied"))
        assert.strictEqual(leadsTo(yield* followCallback(back, begun.cookie)), failed("oauth_state"))
      }
    })
  )

  it.effect("OAuth sign-in redirects other provider errors to /login without quoting them", () =>
    Effect.gen(function* () {
      for (const [error, code] of [
        ["server_error", "oauth_unavailable"],
        ["temporarily_unavailable", "oauth_unavailable"],
        ["invalid_scope", "oauth_failed"],
        ["<script>", "oauth_failed"]
      ] as const) {
        const begun = yield* startSignIn("oauthB")
        const state = new URL(begun.location).searchParams.get("state") ?? ""
        const back = new URL(
          `${callbackB}?${new URLSearchParams({ error, state, error_description: "<b>" }).toString()}`
        )
        assert.strictEqual(leadsTo(yield* followCallback(back, begun.cookie)), failed(code), error)
      }
    })
  )

  it.effect("OAuth sign-in accepts a callback only of its browser and provider, within ten minutes", () =>
    Effect.gen(function* () {
      const mine = yield* startSignIn("oauthA")
      const back = yield* authorizeAtProvider(mine.location, "many")
      const other = yield* startSignIn("oauthA")
      const stateless = new URL(back)
      stateless.searchParams.delete("state")
      const otherState = new URL(back)
      otherState.searchParams.set("state", new URL(other.location).searchParams.get("state") ?? "")
      const elsewhere = new URL(`${callbackB}${back.search}`)
      const forged = mine.cookie.replace(/=.*/, `=${"A".repeat(400)}`)
      const { sealed, secrets } = yield* Effect.flatMap(OAuthTickets, ({ issue }) => issue("oauthB", "/")).pipe(
        Effect.provide(OAuthTickets.Default)
      )
      const ofB = mine.cookie.replace(/=.*/, `=${Redacted.value(sealed)}`)
      const stateOfB = new URL(back)
      stateOfB.searchParams.set("state", Redacted.value(secrets.state))
      const underB = mine.cookie.replace("oautha", "oauthb")
      for (const [what, url, cookie] of [
        ["no cookie", back, ""],
        ["another browser's cookie", back, other.cookie],
        ["no state", stateless, mine.cookie],
        ["another state", otherState, mine.cookie],
        ["a cookie of nobody", back, forged],
        ["another provider's ticket", stateOfB, ofB],
        ["another provider's callback", elsewhere, mine.cookie],
        ["another provider's callback with the ticket", elsewhere, underB],
        ["nothing at all", new URL(callbackA), ""]
      ] as const) {
        const answer = yield* followCallback(url, cookie)
        assert.strictEqual(leadsTo(answer), failed("oauth_state"), what)
        // None of these ends the sign-in in progress.
        assert.notProperty(answer.headers, "set-cookie", what)
      }
      assert.strictEqual(leadsTo(yield* followCallback(back, mine.cookie)), "302 /dashboard")
    })
  )

  for (const [provider, account] of [
    ["oauthA", "many"],
    ["oauthB", "solo"]
  ] as const)
    it.effect(
      `OAuth sign-in at ${provider} opens one session for a state that is replayed twenty times concurrently`,
      () =>
        Effect.gen(function* () {
          const begun = yield* startSignIn(provider)
          const back = yield* authorizeAtProvider(begun.location, account)
          const sessions = Effect.map(sql`select count(*)::int as n from sessions`, ([row]) => Number(row?.["n"]))
          const before = yield* sessions
          const answers = yield* Effect.replicateEffect(followCallback(back, begun.cookie), 20, {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(
            answers.map(leadsTo).toSorted(),
            ["302 /dashboard", ...Array.from({ length: 19 }, () => failed("oauth_state"))].toSorted()
          )
          assert.strictEqual(leadsTo(yield* followCallback(back, begun.cookie)), failed("oauth_state"))
          assert.strictEqual(yield* sessions, before + 1)
        })
    )

  it.effect("OAuth sign-in creates one account for concurrent first sign-ins of one person at both providers", () =>
    Effect.gen(function* () {
      const attempts = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? ("oauthA" as const) : ("oauthB" as const))),
        (provider) =>
          Effect.gen(function* () {
            const begun = yield* startSignIn(provider)
            return { back: yield* authorizeAtProvider(begun.location, "parallel"), cookie: begun.cookie }
          })
      )
      const answers = yield* Effect.forEach(attempts, ({ back, cookie }) => followCallback(back, cookie), {
        concurrency: "unbounded"
      })
      const ids = yield* Effect.forEach(answers, (answer) => Effect.flatMap(sessionCookieOf(answer), findSessionUser))
      assert.strictEqual(new Set(ids.map((who) => who?.id)).size, 1)
    })
  )

  it.effect("OAuth sign-in keeps codes, states and tokens out of logs and responses", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const begun = yield* startSignIn("oauthA")
      const back = yield* authorizeAtProvider(begun.location, "many")
      const answer = yield* followCallback(back, begun.cookie)
      assert.strictEqual(answer.text, "")
      const log = (yield* logLines).join("\n")
      for (const name of ["code", "state"]) {
        const value = back.searchParams.get(name) ?? ""
        assert.isAbove(value.length, 20)
        assert.notInclude(log, value, name)
        assert.notInclude(answer.headers.location ?? "", value, name)
      }
      for (const secret of [oidcClient.secret, begun.cookie.split("=")[1] ?? ""]) assert.notInclude(log, secret)
    })
  )

  it.effect("OAuth sign-in reports an unavailable provider and recovers with it", () =>
    Effect.gen(function* () {
      const gitHub = yield* GitHub
      for (const path of ["/login/oauth/access_token", "/user", "/user/emails"] as const)
        for (const [how, code] of [
          ["hangs", "oauth_unavailable"],
          ["fails", "oauth_unavailable"],
          ["is cut", "oauth_unavailable"],
          ["redirects", "oauth_unavailable"],
          ["has no end", "oauth_unavailable"],
          ["speaks no JSON", "oauth_failed"]
        ] as const) {
          gitHub.setFault(path, how)
          assert.strictEqual(leadsTo(yield* signInWithProvider("oauthB", "solo")), failed(code), `${path} ${how}`)
          gitHub.setFault(path, null)
        }
      assert.strictEqual(leadsTo(yield* signInWithProvider("oauthB", "solo")), "302 /dashboard")
    })
  )

  it.effect("OAuth sign-in sends a code to the provider once", () =>
    Effect.gen(function* () {
      const gitHub = yield* GitHub
      const before = gitHub.exchangeCount()
      const begun = yield* startSignIn("oauthB")
      const back = yield* authorizeAtProvider(begun.location, "solo")
      yield* Effect.replicateEffect(followCallback(back, begun.cookie), 5, { concurrency: "unbounded" })
      assert.strictEqual(gitHub.exchangeCount(), before + 1)
    })
  )

  it.effect("OAuth sign-in rejects the code of another sign-in", () =>
    Effect.gen(function* () {
      for (const [provider, account] of [
        ["oauthA", "many"],
        ["oauthB", "solo"]
      ] as const) {
        const [theirs, mine] = [yield* startSignIn(provider), yield* startSignIn(provider)]
        const stolen = (yield* authorizeAtProvider(theirs.location, account)).searchParams.get("code") ?? ""
        const back = yield* authorizeAtProvider(mine.location, account)
        back.searchParams.set("code", stolen)
        assert.strictEqual(leadsTo(yield* followCallback(back, mine.cookie)), failed("oauth_failed"), provider)
      }
    })
  )
})

layer(app("userinfo", "client_secret_basic"), { excludeTestServices: true })(
  "A provider that keeps to the standard's defaults",
  (it) => {
    it.effect("OAuth sign-in uses client_secret_basic and reads the email from the userinfo endpoint", () =>
      Effect.gen(function* () {
        const who = yield* findSessionUser(yield* sessionCookieOf(yield* signInWithProvider("oauthA", "ada")))
        assert.deepInclude(who, { email: "ada@example.com", name: "Ada Lovelace" })
        assert.strictEqual(leadsTo(yield* signInWithProvider("oauthA", "unverified")), failed("oauth_email_unverified"))
      })
    )
  }
)

layer(App.shared, { excludeTestServices: true })("An unconfigured OAuth provider", (it) => {
  it.effect("An unconfigured OAuth provider redirects start and callback to /login", () =>
    Effect.gen(function* () {
      for (const path of ["oauthA", "oauthB", "oauthA/callback?code=a&state=b", "oauthB/callback"]) {
        const answer = yield* App.web({ method: "GET", path: `/api/auth/${path}` })
        assert.strictEqual(leadsTo(answer), failed("oauth_not_configured"), path)
      }
    })
  )
})

const nowhere = new URL("http://127.0.0.1:1")
const unreachable = App.layer({
  oauthA: { issuer: nowhere, client: Option.some({ clientId: "id", clientSecret: Redacted.make("secret") }) }
})

layer(unreachable, { excludeTestServices: true })("An unreachable OAuth provider", (it) => {
  it.effect("An unreachable OAuth provider redirects to /login", () =>
    Effect.gen(function* () {
      const answer = yield* App.web({ method: "GET", path: "/api/auth/oauthA" })
      assert.strictEqual(leadsTo(answer), failed("oauth_unavailable"))
    })
  )
})
