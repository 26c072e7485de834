import type { GatingToken } from "@berth/domain/gating/TokenGate"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { UserId } from "@berth/domain/shared/UserId"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, Layer, Ref } from "effect"
import { type JWTPayload, SignJWT } from "jose"
import {
  respondRpcError,
  type ChainNodeBehavior,
  respondRpcResult,
  makeFakeChainNode
} from "../fakes/chain/FakeChainNode.ts"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"
import { signSignInMessage } from "../support/chain/SignInMessages.ts"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import {
  type FakeIssuer,
  makeFakeIssuer,
  makeSigningKey,
  signToken,
  makeUnsignedToken
} from "../fakes/identity/FakeIssuer.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import * as s from "./ResponseShapes.ts"

const verifyPath = "/api/auth/socialIdentity/verify"
const refreshPath = "/api/auth/socialIdentity/refresh"
const audience = "localhost:7320"

class Network extends Context.Tag("@berth/test/Network")<Network, FakeIssuer>() {}

class Chain extends Context.Tag("@berth/test/Chain")<Chain, Ref.Ref<ChainNodeBehavior>>() {}

const word = (value: bigint) => respondRpcResult(`0x${value.toString(16).padStart(64, "0")}`)
const minBalance = 5n

const gatingToken: GatingToken = {
  address: WalletAddress.make(makePrivateKey().address),
  symbol: "SHIP",
  chain: "base",
  minBalance
}

const app = (options: App.TestAppOptions = {}) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const network = yield* makeFakeIssuer
      const says = yield* Ref.make<ChainNodeBehavior>(word(0n))
      const node = yield* makeFakeChainNode((request, response) => Effect.runSync(Ref.get(says))(request, response))
      return App.layer({
        appUrl: `http://${audience}`,
        baseRpcUrl: node.url,
        ...options,
        socialIdentity: { jwksUrl: new URL("/jwks", network.origin), issuer: network.origin.origin },
        providerTimeout: Duration.seconds(2)
      }).pipe(Layer.merge(Layer.succeed(Network, network)), Layer.merge(Layer.succeed(Chain, says)))
    })
  )

const seconds = () => Math.floor(new Date().getTime() / 1000)

let lastFid = 6_000
const newFid = () => {
  lastFid += 1
  return lastFid
}

/** The network writes `sub` as a number, which the library's type does not have. */
type Claims = Omit<JWTPayload, "sub"> & Readonly<Record<string, unknown>>

const claimsOf = (issuer: FakeIssuer, fid: unknown, changes: Claims = {}): Claims => ({
  iss: issuer.origin.origin,
  aud: audience,
  sub: fid,
  iat: seconds(),
  exp: seconds() + 3600,
  ...changes
})

const tokenOf = (fid: unknown, changes: Claims = {}) =>
  Effect.flatMap(Network, (issuer) => Effect.promise(() => signToken(issuer.key, claimsOf(issuer, fid, changes))))

const post = (path: string, json: unknown, more: Partial<App.AppCall> = {}) =>
  App.web({ method: "POST", path, json, ...more })

const verify = (fidToken: string, address?: string) =>
  post(verifyPath, { fidToken, ...(address === undefined ? {} : { address }) })
const refresh = (refreshToken: string) => post(refreshPath, { refreshToken })

const tokenIn = ({ body, status, text }: HttpCallResponse) => {
  assert.strictEqual(status, 200, text)
  return String(body["sessionToken"])
}
const signedIn = (fid: unknown = newFid()) => Effect.map(Effect.flatMap(tokenOf(fid), verify), tokenIn)

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const settings = (token: string, more: Readonly<Record<string, string>> = {}) =>
  App.web({ method: "GET", path: "/api/settings", headers: { ...bearer(token), ...more } })
const whoIs = (token: string) =>
  Effect.map(settings(token), ({ body, status }) => (status === 200 ? body["id"] : status))

const shape = (accessLevel: "basic" | "premium", address: string | null) => ({
  success: s.equalTo(true),
  sessionToken: s.matchingPattern(/^[A-Za-z0-9+/]{43}=$/),
  address: s.equalTo(address),
  message: s.nonEmptyText,
  tokenGated: s.equalTo(accessLevel === "premium"),
  accessLevel: s.equalTo(accessLevel)
})

const refused = { status: 401, code: "social_token_rejected" }
const invalid = { status: 401, code: "refresh_token_invalid" }

layer(app(), { excludeTestServices: true })("Social identity", (it) => {
  it.effect("Social identity signs an ID token into one account and returns a bearer token, no cookie", () =>
    Effect.gen(function* () {
      const fid = newFid()
      const answer = yield* Effect.flatMap(tokenOf(fid), verify)
      s.assertShape(answer.body, shape("basic", null))
      assert.notProperty(answer.headers, "set-cookie")
      assert.strictEqual(answer.headers["cache-control"], "no-store")
      const token = tokenIn(answer)
      const who = yield* settings(token)
      assert.deepInclude(who.body, { name: `fid ${fid}`, plan: "free", credits: 0 })
      assert.strictEqual(who.body["email"], `${String(who.body["id"])}@social.localhost`)
      const again = yield* signedIn(fid)
      assert.notStrictEqual(again, token)
      assert.strictEqual(yield* whoIs(again), who.body["id"])
      assert.notStrictEqual(yield* whoIs(yield* signedIn()), who.body["id"])
    })
  )

  it.effect("Social identity refuses a suspended account with 403", () =>
    Effect.gen(function* () {
      const fid = newFid()
      const id = String(yield* whoIs(yield* signedIn(fid)))
      yield* (yield* UserRepository).setSuspendedAt(UserId.make(id), yield* DateTime.now)
      assertError(yield* Effect.flatMap(tokenOf(fid), verify), { status: 403, code: "account_suspended" })
    })
  )

  it.effect("Social identity treats a numeric and a text sub as the same user", () =>
    Effect.gen(function* () {
      const fid = newFid()
      assert.strictEqual(yield* whoIs(yield* signedIn(String(fid))), yield* whoIs(yield* signedIn(fid)))
    })
  )

  it.effect("Social identity creates one account for concurrent first sign-ins", () =>
    Effect.gen(function* () {
      const token = yield* tokenOf(newFid())
      const answers = yield* Effect.replicateEffect(verify(token), 8, { concurrency: "unbounded" })
      const ids = yield* Effect.forEach(answers, (answer) => whoIs(tokenIn(answer)))
      assert.strictEqual(new Set(ids).size, 1)
      assert.match(String(ids[0]), /^usr_/)
    })
  )

  it.effect("Social identity accepts its token in place of the cookie, and no lookalike", () =>
    Effect.gen(function* () {
      const { cookieName } = yield* App.TestApp
      const token = yield* signedIn()
      const id = yield* whoIs(token)
      // An expired cookie does not block the token.
      assert.strictEqual((yield* settings(token, { cookie: `${cookieName}=over` })).body["id"], id)
      const named = yield* App.web({
        method: "POST",
        path: "/api/settings",
        json: { name: "Ada" },
        headers: bearer(token)
      })
      assert.deepInclude(named.body, { id, name: "Ada" })
      const jwt = yield* App.web({ method: "POST", path: "/api/auth/token", headers: bearer(token) })
      assert.strictEqual(jwt.status, 200, jwt.text)
      for (const other of [token.slice(0, -1), token.toLowerCase(), token.replaceAll("+", "-"), `${token}=`, "", "a"])
        if (other !== token) assert.strictEqual(yield* whoIs(other), 401, other)
      const asCookie = yield* App.web({
        method: "GET",
        path: "/api/settings",
        headers: { cookie: `${cookieName}=${token}` }
      })
      assert.strictEqual(asCookie.status, 401)
      const otherScheme = yield* App.web({
        method: "GET",
        path: "/api/settings",
        headers: { authorization: `Basic ${token}` }
      })
      assert.strictEqual(otherScheme.status, 401)
    })
  )

  it.effect("Social identity stores hashes of tokens and logs no token", () =>
    Effect.gen(function* () {
      const idToken = yield* tokenOf(newFid())
      const token = tokenIn(yield* verify(idToken))
      const rows = yield* sql`select to_jsonb(social_tokens)::text as row from social_tokens
        union all select to_jsonb(sessions)::text from sessions`
      assert.isNotEmpty(rows)
      const log = (yield* (yield* App.TestApp).logLines).join("\n")
      for (const text of [JSON.stringify(rows), log])
        for (const secret of [token, idToken]) assert.notInclude(text, secret)
    })
  )

  const forgeries: Readonly<Record<string, (issuer: FakeIssuer, claims: Claims) => string | Promise<string>>> = {
    "of another issuer": (issuer, claims) =>
      signToken(issuer.key, { ...claims, sub: "7", iss: "https://evil.example" }),
    "for another service": (issuer, claims) => signToken(issuer.key, { ...claims, sub: "7", aud: "evil.example" }),
    "for nobody": (issuer, { aud: _aud, ...claims }) => signToken(issuer.key, { ...claims, sub: "7" }),
    "that is over": (issuer, claims) => signToken(issuer.key, { ...claims, sub: "7", exp: seconds() - 60 }),
    "that is never over": (issuer, { exp: _exp, ...claims }) => signToken(issuer.key, { ...claims, sub: "7" }),
    "that is not yet good": (issuer, claims) => signToken(issuer.key, { ...claims, sub: "7", nbf: seconds() + 600 }),
    "of nobody": (issuer, { sub: _sub, ...claims }) => signToken(issuer.key, claims),
    "of an empty id": (issuer, claims) => signToken(issuer.key, { ...claims, sub: " " }),
    "signed by another key": async (issuer, claims) =>
      signToken(await makeSigningKey(), { ...claims, sub: "7" }, { kid: issuer.key.kid }),
    "signed by a key that is not published": async (_issuer, claims) =>
      signToken(await makeSigningKey(), { ...claims, sub: "7" }),
    "signed by nobody": (_issuer, claims) => makeUnsignedToken({ ...claims, sub: "7" }),
    "signed by the public key as a shared secret": (issuer, claims) =>
      new SignJWT({ ...claims, sub: "7" })
        .setProtectedHeader({ alg: "HS256", kid: issuer.key.kid })
        .sign(new TextEncoder().encode(JSON.stringify(issuer.key.publicJwk))),
    "that is none": () => "a.b.c",
    "without an end": async (issuer, claims) => signToken(issuer.key, { ...claims, sub: "7", pad: "x".repeat(20_000) })
  }
  for (const [what, forge] of Object.entries(forgeries))
    it.effect(`Social identity rejects an ID token ${what}`, () =>
      Effect.gen(function* () {
        const issuer = yield* Network
        const token = yield* Effect.promise(async () => forge(issuer, claimsOf(issuer, "7")))
        assertError(yield* verify(token), refused)
      })
    )

  it.effect("Social identity rejects a negative or fractional sub", () =>
    Effect.gen(function* () {
      for (const fid of [0, -1, 1.5, null, true, ["7"], "x".repeat(101)])
        assertError(yield* Effect.flatMap(tokenOf(fid), verify), refused)
    })
  )

  it.effect("Social identity does not fetch the keys again for every unknown key id", () =>
    Effect.gen(function* () {
      const issuer = yield* Network
      const next = yield* Effect.promise(() => makeSigningKey("ES256"))
      const token = yield* Effect.promise(() => signToken(next, { ...claimsOf(issuer, "8"), sub: "8" }))
      for (let times = 0; times < 10; times++) assertError(yield* verify(token), refused)
      assert.isAtMost(issuer.requestCount("/jwks"), 9)
    })
  )
})

layer(app(), { excludeTestServices: true })("A social identity network without available keys", (it) => {
  it.effect("A social identity network without available keys is 500, never 401, and recovers with the keys", () =>
    Effect.gen(function* () {
      const issuer = yield* Network
      const token = yield* tokenOf(newFid())
      for (const how of ["fails", "is cut", "redirects", "has no end", "speaks no JSON", "hangs"] as const) {
        issuer.setFault("/jwks", how)
        assertError(yield* verify(token), { status: 500, code: "social_identity_unavailable" })
      }
      issuer.setFault("/jwks", null)
      assert.strictEqual((yield* verify(token)).status, 200)
      issuer.setFault("/jwks", "fails")
      assert.strictEqual((yield* Effect.flatMap(tokenOf(newFid()), verify)).status, 200)
    })
  )
})

layer(app(), { excludeTestServices: true })("A social session token", (it) => {
  it.effect("A social session token is invalid after its exchange", () =>
    Effect.gen(function* () {
      const first = yield* signedIn()
      const id = yield* whoIs(first)
      const answer = yield* refresh(first)
      s.assertShape(answer.body, {
        success: s.equalTo(true),
        sessionToken: s.matchingPattern(/^[A-Za-z0-9+/]{43}=$/),
        expiresIn: s.equalTo(86_400),
        message: s.nonEmptyText
      })
      assert.strictEqual(answer.headers["cache-control"], "no-store")
      const second = tokenIn(answer)
      assert.strictEqual(yield* whoIs(second), id)
      assert.strictEqual(yield* whoIs(first), 401)
      assert.strictEqual(yield* whoIs(tokenIn(yield* refresh(second))), id)
    })
  )

  it.effect("A social session token revokes its family and no other when replayed", () =>
    Effect.gen(function* () {
      const fid = newFid()
      const [first, other] = [yield* signedIn(fid), yield* signedIn(fid)]
      const second = tokenIn(yield* refresh(first))
      const third = tokenIn(yield* refresh(second))
      assertError(yield* refresh(first), invalid)
      for (const token of [first, second, third]) {
        assert.strictEqual(yield* whoIs(token), 401)
        assertError(yield* refresh(token), invalid)
      }
      assert.match(String(yield* whoIs(other)), /^usr_/)
    })
  )

  it.effect("A social session token is exchanged at most once by twenty requests, which revoke its family", () =>
    Effect.gen(function* () {
      const token = yield* signedIn()
      const answers = yield* Effect.replicateEffect(refresh(token), 20, { concurrency: "unbounded" })
      const next = answers.filter(({ status }) => status === 200).map(tokenIn)
      assert.isAtMost(next.length, 1)
      for (const answer of answers.filter(({ status }) => status !== 200)) assertError(answer, invalid)
      for (const each of [token, ...next]) assert.strictEqual(yield* whoIs(each), 401)
    })
  )

  it.effect("A social session token expires after 86,400 seconds, used or not", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const token = yield* signedIn()
      const lives = (table: "social_tokens" | "sessions") =>
        Effect.map(
          sql`select extract(epoch from max(expires_at) - now())::float as seconds from ${sql(table)}`,
          ([row]) => Number(row?.["seconds"])
        )
      for (const table of ["social_tokens", "sessions"] as const) {
        const left = yield* lives(table)
        assert.isTrue(left > 86_000 && left <= 86_400.5, `${table} ${left}`)
      }
      yield* sql`update social_tokens set expires_at = now() + interval '1 hour'`
      yield* sql`update sessions set expires_at = now() + interval '1 hour'`
      assert.match(String(yield* whoIs(token)), /^usr_/)
      // Using it has not extended it.
      assert.isAtMost(yield* lives("sessions"), 3_600)
      const next = tokenIn(yield* refresh(token))
      assert.isAbove(yield* lives("sessions"), 86_000)
      yield* sql`update social_tokens set expires_at = now()`
      assert.strictEqual(yield* whoIs(next), 401)
      assertError(yield* refresh(next), invalid)
    })
  )

  it.effect("A social session token ends with everything that ends sessions", () =>
    Effect.gen(function* () {
      const token = yield* signedIn()
      const id = yield* whoIs(token)
      yield* sql`delete from sessions where user_id = ${String(id)}`
      assert.strictEqual(yield* whoIs(token), 401)
      assertError(yield* refresh(token), invalid)
    })
  )

  it.effect("A social session token is revoked by sign-out", () =>
    Effect.gen(function* () {
      const token = yield* signedIn()
      assert.strictEqual((yield* post("/api/auth/signout", {}, { headers: bearer(token) })).status, 200)
      assert.strictEqual(yield* whoIs(token), 401)
      assertError(yield* refresh(token), invalid)
    })
  )
})

const address = makePrivateKey().address

layer(app({ gatingToken }), { excludeTestServices: true })("Token gating of social identity", (it) => {
  it.effect("Token gating of social identity is premium for a proven address with the balance, in any case", () =>
    Effect.gen(function* () {
      const says = yield* Chain
      const holder = makePrivateKey().address
      yield* Ref.set(says, word(minBalance))
      for (const claim of [holder, holder.toLowerCase()]) {
        const answer = yield* Effect.flatMap(tokenOf(newFid(), { address: claim }), (token) => verify(token, holder))
        s.assertShape(answer.body, shape("premium", holder))
      }
    })
  )

  it.effect("Token gating of social identity is 403 for a low balance, without account or session", () =>
    Effect.gen(function* () {
      const says = yield* Chain
      const poor = makePrivateKey().address
      yield* Ref.set(says, word(minBalance - 1n))
      const before = yield* sql`select count(*) from users`
      const answer = yield* Effect.flatMap(tokenOf(newFid(), { address: poor }), (token) => verify(token, poor))
      assertError(answer, { status: 403, code: "token_balance_insufficient" })
      assert.deepInclude(answer.body, { required: "SHIP", minBalance: "5" })
      assert.deepStrictEqual(yield* sql`select count(*) from users`, before)
    })
  )

  it.effect("Token gating of social identity returns basic for a missing, unproven or malformed address", () =>
    Effect.gen(function* () {
      const says = yield* Chain
      yield* Ref.set(says, respondRpcError({ code: -32603, message: "internal error" }))
      for (const [claims, requested] of [
        [{ address }, undefined],
        [{}, address],
        [{ address: makePrivateKey().address }, address],
        [{ address: "0x12" }, "0x12"],
        [{ address: [address] }, address]
      ] as const) {
        const answer = yield* Effect.flatMap(tokenOf(newFid(), claims), (token) => verify(token, requested))
        assert.strictEqual(answer.status, 200, answer.text)
        s.assertShape(answer.body, shape("basic", requested ?? null))
      }
    })
  )

  it.effect("Token gating of social identity accepts a linked wallet as proof of the address", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const says = yield* Chain
      const [fid, key] = [newFid(), makePrivateKey()]
      const session = yield* signedIn(fid)
      const ask = Effect.flatMap(tokenOf(fid), (token) => verify(token, key.address))
      yield* Ref.set(says, word(minBalance))
      s.assertShape((yield* ask).body, shape("basic", key.address))
      const proof = yield* signSignInMessage(appUrl, {
        address: key.address,
        sign: (message) => key.signMessage({ message })
      })
      const linked = yield* post("/api/settings/wallets", proof, { headers: bearer(session) })
      assert.strictEqual(linked.status, 200, linked.text)
      s.assertShape((yield* ask).body, shape("premium", key.address))
      // It proves nothing about other accounts.
      const other = yield* Effect.flatMap(tokenOf(newFid()), (token) => verify(token, key.address))
      s.assertShape(other.body, shape("basic", key.address))
    })
  )

  it.effect("Token gating of social identity is 500 while the chain is unreachable", () =>
    Effect.gen(function* () {
      const says = yield* Chain
      const holder = makePrivateKey().address
      yield* Ref.set(says, respondRpcError({ code: -32603, message: "internal error" }))
      const answer = yield* Effect.flatMap(tokenOf(newFid(), { address: holder }), (token) => verify(token, holder))
      assertError(answer, { status: 500, code: "gating_check_failed" })
    })
  )
})

layer(app({ limits: { "sign-in": { count: 3, window: Duration.minutes(15) } } }), { excludeTestServices: true })(
  "The limit of sign-ins by social identity",
  (it) => {
    it.effect("The limit of social identity counts failures and no successes", () =>
      Effect.gen(function* () {
        const from = "192.0.2.40"
        for (let times = 0; times < 5; times++)
          assert.strictEqual((yield* post(verifyPath, { fidToken: yield* tokenOf(newFid()) }, { from })).status, 200)
        for (let times = 0; times < 3; times++)
          assertError(yield* post(verifyPath, { fidToken: "no" }, { from }), refused)
        const limited = yield* post(verifyPath, { fidToken: yield* tokenOf(newFid()) }, { from })
        assertError(limited, { status: 429, code: "rate_limit_exceeded" })
      })
    )
  }
)
