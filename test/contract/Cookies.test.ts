import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { uniqueName } from "../support/Samples.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"

const password = "correct horse battery"
const path = "/api/auth/callback/credentials"
const thirtyDays = 30 * 24 * 60 * 60
const tenMinutes = 10 * 60

interface SetCookie {
  readonly name: string
  readonly value: string
  readonly attributes: ReadonlyArray<string>
}

const cookiesOf = ({ headers }: HttpCallResponse): ReadonlyArray<SetCookie> => {
  const cookies = (headers["set-cookie"] ?? []).map((text) => {
    const [pair = "", ...attributes] = text.split("; ")
    const at = pair.indexOf("=")
    return { name: pair.slice(0, at), value: pair.slice(at + 1), attributes: attributes.toSorted() }
  })
  assert.strictEqual(new Set(cookies.map(({ name }) => name)).size, cookies.length, "one cookie a name")
  return cookies
}

const onlyCookieOf = (answer: HttpCallResponse): SetCookie => {
  const [only, ...more] = cookiesOf(answer)
  assert.deepStrictEqual(more, [])
  return only ?? assert.fail(`no cookie: ${answer.status} ${answer.text}`)
}

const account = Effect.gen(function* () {
  const email = `${yield* uniqueName("member")}@example.com`
  yield* App.web({ method: "POST", path: "/api/register", json: { email, password } })
  return email
})

const byJson = (email: string, cookie?: string) =>
  App.web({ method: "POST", path, json: { email, password }, headers: cookie === undefined ? {} : { cookie } })
const byForm = (email: string, cookie?: string) =>
  App.web({
    method: "POST",
    path,
    body: new URLSearchParams({ email, password }).toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...(cookie === undefined ? {} : { cookie })
    }
  })
const signIns = [
  ["by JSON", byJson],
  ["by a form", byForm]
] as const

const statusOf = (cookie: string) =>
  Effect.map(App.web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ status }) => status)

const sites: ReadonlyArray<{
  readonly appUrl: string
  readonly session: string
  readonly nonce: string
  readonly secure: ReadonlyArray<string>
}> = [
  {
    appUrl: "https://berth.example",
    session: "__Host-berth_session",
    nonce: "__Host-berth_wallet_nonce",
    secure: ["Secure"]
  },
  {
    appUrl: "https://berth.example:8443",
    session: "__Host-berth_session",
    nonce: "__Host-berth_wallet_nonce",
    secure: ["Secure"]
  },
  { appUrl: "http://berth.example", session: "berth_session", nonce: "berth_wallet_nonce", secure: [] },
  { appUrl: "http://localhost:4711", session: "berth_session_4711", nonce: "berth_wallet_nonce_4711", secure: [] }
]

for (const site of sites)
  layer(App.layer({ appUrl: site.appUrl }), { excludeTestServices: true })(`A cookie of ${site.appUrl}`, (it) => {
    const attributes = (maxAge: number) =>
      ["HttpOnly", `Max-Age=${maxAge}`, "Path=/", "SameSite=Lax", ...site.secure].toSorted()

    for (const [how, signIn] of signIns)
      it.effect(`A cookie of ${site.appUrl} by ${how} is bound to this host, hidden from scripts, and valid`, () =>
        Effect.gen(function* () {
          const cookie = onlyCookieOf(yield* signIn(yield* account))
          assert.deepStrictEqual([cookie.name, cookie.attributes], [site.session, attributes(thirtyDays)])
          assert.match(cookie.value, /^[A-Za-z0-9_-]{43}$/)
          assert.strictEqual(yield* statusOf(`${cookie.name}=${cookie.value}`), 200)
        })
      )

    it.effect(`A cookie of ${site.appUrl} is cleared with the same attributes at the end of its session`, () =>
      Effect.gen(function* () {
        const email = yield* account
        const newSession = Effect.map(byJson(email), (answer) => {
          const { name, value } = onlyCookieOf(answer)
          return { cookie: `${name}=${value}` }
        })
        const cleared = { name: site.session, value: "", attributes: attributes(0) }
        const signedOut = yield* App.web({ method: "POST", path: "/api/auth/signout", headers: yield* newSession })
        assert.deepStrictEqual(onlyCookieOf(signedOut), cleared)
        const headers = yield* newSession
        const { body } = yield* App.web({ method: "GET", path: "/api/auth/sessions", headers })
        const id = /"id":"(ses_\w+)"[^}]*"current":true/.exec(JSON.stringify(body))?.[1]
        const revoked = yield* App.web({ method: "DELETE", path: `/api/auth/sessions/${id}`, headers })
        assert.deepStrictEqual(onlyCookieOf(revoked), cleared)
        const deleted = yield* App.web({
          method: "DELETE",
          path: "/api/settings",
          headers: yield* newSession,
          json: { confirm: true }
        })
        assert.deepStrictEqual(onlyCookieOf(deleted), cleared)
      })
    )

    it.effect(`A cookie of ${site.appUrl} of a wallet's nonce is bound to this host and hidden from scripts`, () =>
      Effect.gen(function* () {
        const { attributes: nonceAttributes, name } = onlyCookieOf(
          yield* App.web({ method: "GET", path: "/api/auth/nonce" })
        )
        assert.deepStrictEqual([name, nonceAttributes], [site.nonce, attributes(tenMinutes)])
      })
    )

    for (const [how, signIn] of signIns)
      it.effect(`A cookie of ${site.appUrl} that the client sent before a sign-in ${how} never becomes a session`, () =>
        Effect.gen(function* () {
          const email = yield* account
          const attacker = onlyCookieOf(yield* byJson(yield* account))
          const planted = [
            `${site.session}=${"p".repeat(43)}`,
            `${site.session}=`,
            // A valid one of another account: it must not become the victim's.
            `${attacker.name}=${attacker.value}`
          ]
          for (const brought of planted) {
            const cookie = onlyCookieOf(yield* signIn(email, brought))
            assert.notStrictEqual(`${cookie.name}=${cookie.value}`, brought)
            // The presented token is revoked or unknown.
            assert.strictEqual(yield* statusOf(brought), 401)
            assert.strictEqual(yield* statusOf(`${cookie.name}=${cookie.value}`), 200)
          }
        })
      )

    it.effect(`A cookie of ${site.appUrl} makes responses no-store, the response of the sign-in included`, () =>
      Effect.gen(function* () {
        for (const [, signIn] of signIns) {
          const signedIn = yield* signIn(yield* account)
          assert.strictEqual(signedIn.headers["cache-control"], "no-store")
          const { name, value } = onlyCookieOf(signedIn)
          for (const read of ["/api/settings", "/api/agents", "/api/auth/session", "/api/no-such-route"])
            assert.strictEqual(
              (yield* App.web({ method: "GET", path: read, headers: { cookie: `${name}=${value}` } })).headers[
                "cache-control"
              ],
              "no-store",
              read
            )
        }
        const byToken = yield* App.web({ method: "GET", path: "/api/settings", headers: { authorization: "Bearer x" } })
        assert.strictEqual(byToken.headers["cache-control"], "no-store")
      })
    )

    it.effect(`A cookie of ${site.appUrl} is not set by failing or reading requests`, () =>
      Effect.gen(function* () {
        const wrong = yield* App.web({ method: "POST", path, json: { email: yield* account, password: "wrong" } })
        assertError(wrong, { status: 401, code: "credentials_invalid" })
        const answers = [
          wrong,
          yield* App.web({ method: "POST", path, json: {} }),
          yield* App.web({ method: "GET", path: "/api/auth/session", headers: { cookie: `${site.session}=x` } }),
          yield* App.web({ method: "GET", path: "/api/settings", headers: { cookie: `${site.session}=x` } }),
          yield* App.web({ method: "DELETE", path: "/api/settings", headers: { cookie: `${site.session}=x` } })
        ]
        for (const answer of answers) assert.deepStrictEqual(cookiesOf(answer), [])
      })
    )

    it.effect(`A cookie of ${site.appUrl} of another name, or of another service on this host, is ignored`, () =>
      Effect.gen(function* () {
        const { value } = onlyCookieOf(yield* byJson(yield* account))
        for (const name of ["berth_session_1", "berth_session", "__Host-berth_session", "__Secure-berth_session"])
          if (name !== site.session) assert.strictEqual(yield* statusOf(`${name}=${value}`), 401, name)
      })
    )
  })
