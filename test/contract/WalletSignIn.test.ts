import { Email } from "@berth/domain/shared/Email"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Duration, Effect, Layer } from "effect"
import { getAddress } from "viem"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"
import { type TestChain, startTestChain } from "../support/chain/TestChain.ts"
import {
  type SignInProof,
  signSignInMessage,
  type MessageSigner,
  makeSignInMessage
} from "../support/chain/SignInMessages.ts"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { findVerificationToken } from "../support/Mailbox.ts"
import { uniqueName } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError, withoutTraceId } from "./ErrorAssertions.ts"

const path = "/api/auth/callback/wallet"
const refused = { status: 401, code: "wallet_sign_in_rejected" }

const newSigner = (): MessageSigner => {
  const key = makePrivateKey()
  return { address: key.address, sign: (message) => key.signMessage({ message }) }
}

const signIn = (json: unknown, more: Partial<App.AppCall> = {}) => App.web({ method: "POST", path, json, ...more })

const proof = (signer: MessageSigner, changes: Parameters<typeof signSignInMessage>[2] = {}) =>
  Effect.flatMap(App.TestApp, ({ appUrl }) => signSignInMessage(appUrl, signer, changes))

const cookiesOf = ({ headers }: HttpCallResponse) =>
  new Map(
    (headers["set-cookie"] ?? []).map((line) => {
      const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=")
      return [name, value]
    })
  )
const pairOf = (answer: HttpCallResponse, name: string) => `${name}=${cookiesOf(answer).get(name) ?? ""}`

const sessionOf = (answer: HttpCallResponse) => Effect.map(App.TestApp, ({ cookieName }) => pairOf(answer, cookieName))

const whoIs = (cookie: string) =>
  Effect.map(App.web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ body, status }) =>
    status === 200 ? body : status
  )
const idOf = (answer: HttpCallResponse) =>
  Effect.gen(function* () {
    const who = yield* whoIs(yield* sessionOf(answer))
    return typeof who === "number" ? who : who["id"]
  })

const count = (query: "users" | "wallets" | "sessions" | "used_wallet_nonces") =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql`select count(*)::int as count from ${sql(query)}`
    return Number(row?.["count"])
  })

const countAll = Effect.all([count("users"), count("wallets"), count("sessions"), count("used_wallet_nonces")])

/** Asserts that a sign-in is rejected with the common message, without a cookie and without writes. */
const assertRefused = (ask: Effect.Effect<HttpCallResponse, never, App.TestApp>, what: string) =>
  Effect.gen(function* () {
    const before = yield* countAll
    const answer = yield* ask
    assertError(answer, refused)
    assert.notProperty(answer.headers, "set-cookie", what)
    assert.strictEqual(withoutTraceId(answer), withoutTraceId(yield* signIn({})), what)
    assert.deepStrictEqual(yield* countAll, before, what)
  })

const nonceIn = ({ message }: Pick<SignInProof, "message">) =>
  /Nonce: (.*)/.exec(message)?.[1] ?? assert.fail("no nonce")

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)

layer(App.layer(), { excludeTestServices: true })("Sign-in by wallet", (it) => {
  it.effect("Sign-in by wallet creates an account and redirects with a session", () =>
    Effect.gen(function* () {
      const { appUrl, cookieName } = yield* App.TestApp
      const signer = newSigner()
      const answer = yield* signIn(yield* proof(signer))
      assert.deepStrictEqual([answer.status, answer.headers.location, answer.text], [302, "/dashboard", ""])
      const line = (answer.headers["set-cookie"] ?? []).find((set) => set.startsWith(cookieName)) ?? ""
      for (const attribute of ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"])
        assert.include(line.split("; "), attribute)
      const who = yield* whoIs(yield* sessionOf(answer))
      const { address } = signer
      assert.deepInclude(who, {
        email: `${address.toLowerCase()}@wallet.${appUrl.hostname}`,
        name: `${address.slice(0, 6)}...${address.slice(-4)}`,
        plan: "free",
        credits: 0
      })
    })
  )

  it.effect("Sign-in by wallet finds the account again and revokes the client's previous session", () =>
    Effect.gen(function* () {
      const signer = newSigner()
      const first = yield* signIn(yield* proof(signer))
      const cookie = yield* sessionOf(first)
      const second = yield* signIn(yield* proof(signer), { headers: { cookie } })
      assert.strictEqual(yield* idOf(first), 401)
      const elsewhere = yield* signIn(yield* proof(signer))
      assert.strictEqual(yield* idOf(second), yield* idOf(elsewhere))
      assert.isString(yield* idOf(second))
    })
  )

  it.effect("Settings of an account created by a wallet accept its unchanged email, and no other derived one", () =>
    Effect.gen(function* () {
      const call = {
        path: "/api/settings",
        headers: { cookie: yield* sessionOf(yield* signIn(yield* proof(newSigner()))) }
      }
      const { body } = yield* App.web({ method: "GET", ...call })
      const post = (email: unknown) => App.web({ method: "POST", ...call, json: { ...body, name: "Ada", email } })
      assert.deepStrictEqual((yield* post(body["email"])).body, { ...body, name: "Ada" })
      assertError(yield* post(`0x${String(body["email"])}`), { status: 400, code: "email_invalid" })
    })
  )

  it.effect("Sign-in by wallet refuses a suspended account with 403 and no cookie", () =>
    Effect.gen(function* () {
      const signer = newSigner()
      const id = String(yield* idOf(yield* signIn(yield* proof(signer))))
      yield* (yield* UserRepository).setSuspendedAt(UserId.make(id), yield* DateTime.now)
      const answer = yield* signIn(yield* proof(signer))
      assertError(answer, { status: 403, code: "account_suspended" })
      assert.notProperty(answer.headers, "set-cookie")
    })
  )

  it.effect("Sign-in by wallet accepts a form and redirects only within the service", () =>
    Effect.gen(function* () {
      for (const [callbackUrl, location] of [
        ["/agents?x=1", "/agents?x=1"],
        ["https://evil.example/", "/dashboard"],
        ["//evil.example", "/dashboard"],
        ["javascript:alert(1)", "/dashboard"]
      ] as const) {
        const signer = newSigner()
        const form = yield* signIn(undefined, {
          body: new URLSearchParams({ ...(yield* proof(signer)), callbackUrl }).toString(),
          headers: { "content-type": "application/x-www-form-urlencoded" }
        })
        const json = yield* signIn({ ...(yield* proof(signer)), callbackUrl })
        for (const answer of [form, json])
          assert.deepStrictEqual([answer.status, answer.headers.location], [302, location], answer.text)
        assert.strictEqual(yield* idOf(form), yield* idOf(json))
      }
    })
  )

  it.effect("Sign-in by wallet links the account with the email derived from the wallet", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const signer = newSigner()
      const there = yield* App.signInNewUser()
      yield* sql`
        update users set email = ${`${signer.address.toUpperCase()}@wallet.${appUrl.hostname}`} where id = ${there.user.id}`
      for (let times = 0; times < 2; times++)
        assert.strictEqual(yield* idOf(yield* signIn(yield* proof(signer))), there.user.id)
      const wallets = yield* sql`select address from wallets where user_id = ${there.user.id}`
      assert.deepStrictEqual(wallets, [{ address: signer.address }])
    })
  )

  it.effect("Sign-in by wallet creates one account for concurrent first sign-ins", () =>
    Effect.gen(function* () {
      const signer = newSigner()
      const users = yield* count("users")
      const proofs = yield* Effect.all(Array.from({ length: 12 }, () => proof(signer)))
      const answers = yield* Effect.forEach(proofs, (one) => signIn(one), { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([302]))
      assert.strictEqual(new Set(yield* Effect.forEach(answers, idOf)).size, 1)
      assert.strictEqual(yield* count("users"), users + 1)
    })
  )

  it.effect("Sign-in by wallet accepts a proof once, sequentially and concurrently", () =>
    Effect.gen(function* () {
      const signer = newSigner()
      const once = yield* proof(signer)
      assert.strictEqual((yield* signIn(once)).status, 302)
      yield* assertRefused(signIn(once), "replayed")
      const raced = yield* proof(signer)
      const sessions = yield* count("sessions")
      const answers = yield* Effect.replicateEffect(signIn(raced), 20, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [302, ...Array.from({ length: 19 }, () => 401)]
      )
      assert.strictEqual(yield* count("sessions"), sessions + 1)
      // Two messages with the same nonce conflict; another wallet's nonce does not.
      const nonce = nonceIn(raced)
      yield* assertRefused(signIn(yield* proof(signer, { nonce, statement: "Again" })), "the nonce in other words")
      assert.strictEqual((yield* signIn(yield* proof(newSigner(), { nonce }))).status, 302)
    })
  )

  it.effect("Sign-in by wallet returns one 401 for every fault of a message", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const signer = newSigner()
      const attacks: Record<string, Parameters<typeof signSignInMessage>[2]> = {
        "another site": { domain: "evil.example", uri: "https://evil.example" },
        "another port": { domain: `${appUrl.hostname}:1`, uri: `http://${appUrl.hostname}:1` },
        "another name of the loopback": { domain: appUrl.host.replace("localhost", "127.0.0.1") },
        "a page of another site": { uri: "https://evil.example" },
        "another scheme": { scheme: "https" },
        "another chain": { chainId: 1 },
        "the testnet": { chainId: 84_532 },
        "too old": { issuedAt: minutesAgo(11) },
        "from the future": { issuedAt: minutesAgo(-2) },
        expired: { expirationTime: minutesAgo(1) },
        "not yet valid": { notBefore: minutesAgo(-1) }
      }
      for (const [what, changes] of Object.entries(attacks))
        yield* assertRefused(signIn(yield* proof(signer, changes)), what)

      const { message, signature } = yield* proof(signer)
      const signed = (text: string) =>
        Effect.map(
          Effect.promise(() => signer.sign(text)),
          (by): SignInProof => ({ message: text, signature: by })
        )
      const forged: Record<string, SignInProof> = {
        "an address without its checksum": yield* signed(message.replace(signer.address, signer.address.toLowerCase())),
        "a line more": yield* signed(`${message}\nAdmin: yes`),
        "a line break more": yield* signed(`${message}\n`),
        "an oversized message": yield* signed(
          makeSignInMessage(appUrl, signer.address, { statement: "a".repeat(5_000) })
        ),
        "no message": { message: "", signature }
      }
      for (const [what, one] of Object.entries(forged)) yield* assertRefused(signIn(one), what)
      // No check so far was expensive enough to reach the chain, which is unreachable.
      yield* assertRefused(signIn({ message, signature: `0x${"00".repeat(9_000)}` }), "an oversized signature")
      yield* assertRefused(signIn({ message, signature: "0xsigned" }), "a signature that is none")
      assert.strictEqual((yield* signIn({ message, signature })).status, 302)
    })
  )

  it.effect("Sign-in by wallet returns 503 while the chain is unreachable, and the proof stays valid", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const before = yield* countAll
      const [signer, other] = [newSigner(), newSigner()]
      const { message } = yield* proof(signer)
      for (const signature of [yield* Effect.promise(() => other.sign(message)), "0x1234"])
        assertError(yield* signIn({ message, signature }), { status: 503, code: "chain_unreachable" })
      assert.deepStrictEqual(yield* countAll, before)
      // The node's address contains a key.
      assert.notInclude((yield* logLines).join("\n"), "hunter2")
    })
  )

  it.effect("Sign-in by wallet keeps message, signature and nonce out of logs, responses and tables", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const signer = newSigner()
      const { message, signature } = yield* proof(signer)
      yield* signIn({ message, signature })
      yield* signIn({ message, signature })
      const nonce = nonceIn({ message })
      const stored = JSON.stringify(yield* sql`select * from used_wallet_nonces`)
      for (const text of [(yield* logLines).join("\n"), stored])
        for (const secret of [nonce, signature, signer.address, signer.address.toLowerCase()])
          assert.notInclude(text, secret)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("A page that signs in by wallet", (it) => {
  const nonceFor = (headers: Record<string, string> = {}) =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const answer = yield* App.web({ method: "GET", path: "/api/auth/nonce", headers })
      assert.strictEqual(answer.status, 200)
      const [line = ""] = answer.headers["set-cookie"] ?? []
      return {
        nonce: String(answer.body["nonce"]),
        cookie: pairOf(answer, `berth_wallet_nonce_${appUrl.port}`),
        line,
        origin: appUrl.origin
      }
    })

  it.effect("A page that signs in by wallet presents the nonce of its browser through an HttpOnly cookie", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const { cookie, line, nonce, origin } = yield* nonceFor()
      assert.deepStrictEqual(line.split("; ").slice(1).toSorted(), [
        "HttpOnly",
        "Max-Age=600",
        "Path=/",
        "SameSite=Lax"
      ])
      assert.notInclude(line, nonce)
      const answer = yield* signIn(yield* proof(newSigner(), { nonce }), { headers: { origin, cookie } })
      assert.strictEqual(answer.status, 302, answer.text)
      assert.strictEqual(cookiesOf(answer).get(`berth_wallet_nonce_${appUrl.port}`), "")
    })
  )

  it.effect("A page that signs in by wallet is rejected without a nonce and with a foreign or used one", () =>
    Effect.gen(function* () {
      const [mine, theirs] = [yield* nonceFor(), yield* nonceFor()]
      assert.notStrictEqual(mine.nonce, theirs.nonce)
      const { origin } = mine
      const from = (nonce: string | undefined, cookie: string | undefined) =>
        Effect.flatMap(proof(newSigner(), nonce === undefined ? {} : { nonce }), (one) =>
          signIn(one, { headers: { origin, ...(cookie === undefined ? {} : { cookie }) } })
        )
      const [name = ""] = mine.cookie.split("=")
      yield* assertRefused(from(undefined, undefined), "no nonce of ours")
      yield* assertRefused(from(mine.nonce, undefined), "no cookie")
      yield* assertRefused(from(undefined, mine.cookie), "another nonce")
      yield* assertRefused(from(mine.nonce, theirs.cookie), "another browser's cookie")
      yield* assertRefused(from(mine.nonce, `${name}=${mine.nonce}`), "a cookie made up")
      const bent = mine.cookie.replace(/.(.{4})$/, (end, rest: string) => `${end.startsWith("A") ? "B" : "A"}${rest}`)
      yield* assertRefused(from(mine.nonce, bent), "a cookie tampered with")
      assert.strictEqual((yield* from(mine.nonce, mine.cookie)).status, 302)
      yield* assertRefused(from(mine.nonce, mine.cookie), "used, by another wallet too")
    })
  )

  it.effect("A page that signs in by wallet of another site is 403", () =>
    Effect.gen(function* () {
      const { cookie, nonce } = yield* nonceFor()
      const answer = yield* signIn(yield* proof(newSigner(), { nonce }), {
        headers: { origin: "https://evil.example", cookie }
      })
      assertError(answer, { status: 403, code: "origin_not_allowed" })
    })
  )

  it.effect("A page that signs in by wallet requests nonces without writing a row", () =>
    Effect.gen(function* () {
      const before = yield* countAll
      const nonces = yield* Effect.replicateEffect(nonceFor(), 30)
      assert.strictEqual(new Set(nonces.map(({ nonce }) => nonce)).size, 30)
      assert.deepStrictEqual(yield* countAll, before)
    })
  )
})

layer(App.layer({ appUrl: "https://berth.example" }), { excludeTestServices: true })("Behind https", (it) => {
  it.effect("Both cookies have the __Host- prefix and Secure", () =>
    Effect.gen(function* () {
      const requested = yield* App.web({ method: "GET", path: "/api/auth/nonce" })
      const [line = ""] = requested.headers["set-cookie"] ?? []
      assert.match(line, /^__Host-berth_wallet_nonce=/)
      assert.include(line.split("; "), "Secure")
      const headers = { origin: "https://berth.example", cookie: line.split(";")[0] ?? "" }
      const answer = yield* signIn(yield* proof(newSigner(), { nonce: String(requested.body["nonce"]) }), { headers })
      assert.strictEqual(answer.status, 302, answer.text)
      assert.deepStrictEqual([...cookiesOf(answer).keys()].toSorted(), [
        "__Host-berth_session",
        "__Host-berth_wallet_nonce"
      ])
      const who = yield* whoIs(yield* sessionOf(answer))
      assert.isTrue(typeof who === "object" && String(who["email"]).endsWith("@wallet.berth.example"))
    })
  )
})

const few = { "sign-in": { count: 3, window: Duration.minutes(15) } }

layer(App.layer({ limits: few }), { excludeTestServices: true })("Limits of wallet sign-in", (it) => {
  it.effect("Limits of wallet sign-in count failures together with password sign-ins, and no successes", () =>
    Effect.gen(function* () {
      const from = "192.0.2.20"
      for (let times = 0; times < 4; times++)
        assert.strictEqual((yield* signIn(yield* proof(newSigner()), { from })).status, 302)
      for (let times = 0; times < 2; times++) assertError(yield* signIn({}, { from }), refused)
      const json = { email: "nobody@example.com", password: "wrong" }
      const byPassword = yield* App.web({ method: "POST", path: "/api/auth/callback/credentials", json, from })
      assert.strictEqual(byPassword.status, 401)
      const limited = yield* signIn(yield* proof(newSigner()), { from })
      assertError(limited, { status: 429, code: "rate_limit_exceeded" })
      assert.isString(limited.headers["retry-after"])
    })
  )

  it.effect("Limits of wallet sign-in count new accounts of wallets as registrations, and no later sign-ins", () =>
    Effect.gen(function* () {
      const from = "192.0.2.22"
      const signers = Array.from({ length: 10 }, newSigner)
      for (const signer of signers) assert.strictEqual((yield* signIn(yield* proof(signer), { from })).status, 302)
      const users = yield* count("users")
      const once = yield* proof(newSigner())
      const limited = yield* signIn(once, { from })
      assertError(limited, { status: 429, code: "rate_limit_exceeded" })
      assert.strictEqual(limited.body["limit"], "register")
      assert.isString(limited.headers["retry-after"])
      assert.strictEqual(yield* count("users"), users)
      for (const signer of signers.slice(0, 2))
        assert.strictEqual((yield* signIn(yield* proof(signer), { from })).status, 302)
      // The rejected proof is not consumed.
      assert.strictEqual((yield* signIn(once, { from: "192.0.2.23" })).status, 302)
    })
  )

  it.effect("Limits of wallet sign-in apply to linking before any other check of the proof", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const link = (more: Partial<App.AppCall>) =>
        App.web({ method: "POST", path: "/api/settings/wallets", from: "192.0.2.21", ...more })
      for (let times = 0; times < 4; times++)
        assert.strictEqual((yield* link({ as: me, json: yield* proof(newSigner()) })).status, 200)
      for (let times = 0; times < 3; times++)
        assert.strictEqual((yield* link({ as: me, json: { message: "", signature: "" } })).status, 400)
      for (const more of [{ as: me, json: yield* proof(newSigner()) }, {}])
        assertError(yield* link(more), { status: 429, code: "rate_limit_exceeded" })
    })
  )
})

class Chain extends Context.Tag("@berth/test/Chain")<Chain, TestChain>() {}

const onChain = Layer.unwrapScoped(
  Effect.map(startTestChain, (chain) => Layer.merge(App.layer({ baseRpcUrl: chain.url }), Layer.succeed(Chain, chain)))
)

layer(onChain, { excludeTestServices: true })("A smart wallet", (it) => {
  it.effect("A smart wallet signs into one account before and after its deployment", () =>
    Effect.gen(function* () {
      const chain = yield* Chain
      const wallet = yield* chain.smartWallet()
      const { address } = wallet
      const undeployed = yield* signIn(yield* proof({ address, sign: wallet.signWrapped }))
      assert.strictEqual(undeployed.status, 302, undeployed.text)
      yield* chain.deployed(wallet)
      const deployed = yield* signIn(yield* proof({ address, sign: wallet.sign }))
      assert.strictEqual(deployed.status, 302, deployed.text)
      assert.strictEqual(yield* idOf(deployed), yield* idOf(undeployed))
    })
  )

  it.effect("A smart wallet is rejected for another owner, another wallet and a wrapped EOA signature", () =>
    Effect.gen(function* () {
      const chain = yield* Chain
      const [wallet, other] = [yield* chain.smartWallet(), yield* chain.smartWallet()]
      const plain = newSigner()
      for (const [what, signer] of Object.entries<MessageSigner>({
        "a bare signature of an undeployed wallet": { address: wallet.address, sign: wallet.sign },
        "another wallet's owner": { address: wallet.address, sign: other.signWrapped },
        "a plain key": { address: wallet.address, sign: plain.sign },
        "a wrapper around the owner's own key": {
          address: getAddress(wallet.owner.address),
          sign: wallet.signWrapped
        },
        "another key's signature": { address: plain.address, sign: newSigner().sign }
      }))
        yield* assertRefused(signIn(yield* proof(signer)), what)
    })
  )
})

layer(App.layer({ verifiedEmailsOnly: true }), { excludeTestServices: true })(
  "In production, a wallet's account",
  (it) => {
    it.effect("An account created by a wallet has free daily units once a real email address is confirmed", () =>
      Effect.gen(function* () {
        const cookie = yield* sessionOf(yield* signIn(yield* proof(newSigner())))
        const post = (path: string, json: unknown, headers: Record<string, string> = { cookie }) =>
          App.web({ method: "POST", path, json, headers })
        const dailyUnits = Effect.gen(function* () {
          const { body } = yield* post("/api/auth/token", {})
          const authorization = `Bearer ${String(body["token"])}`
          const usage = yield* post("/api/billing", { action: "get-usage" }, { authorization })
          return usage.body["dailyUnits"]
        })
        assert.strictEqual(yield* dailyUnits, 0)
        assert.strictEqual((yield* post("/api/auth/verify-email", {})).status, 200)
        assert.strictEqual(yield* dailyUnits, 0)
        const email = `${yield* uniqueName("holder")}@example.com`
        assert.strictEqual((yield* post("/api/settings", { email })).status, 200)
        assert.strictEqual(yield* dailyUnits, 0)
        const token = encodeURIComponent(yield* findVerificationToken(email))
        yield* App.web({ method: "GET", path: `/api/auth/verify-email?token=${token}`, headers: { cookie } })
        assert.strictEqual(yield* dailyUnits, 50)
      })
    )
  }
)

layer(App.shared, { excludeTestServices: true })("The wallets of an account", (it) => {
  const settings = "/api/settings/wallets"
  const list = (as: App.SignedIn) =>
    Effect.map(App.web({ method: "GET", path: settings, as }), ({ body }) => body["wallets"])
  const link = (as: App.SignedIn, json: unknown, headers: Record<string, string> = {}) =>
    App.web({ method: "POST", path: settings, json, headers: { cookie: as.cookie, ...headers } })
  const unlink = (as: App.SignedIn, address: string) =>
    App.web({ method: "DELETE", path: `${settings}?address=${address}`, as })

  const comer = Effect.gen(function* () {
    const signer = newSigner()
    const answer = yield* signIn(yield* proof(signer))
    const { appUrl } = yield* App.TestApp
    const users = yield* UserRepository
    const email = Email.make(`${signer.address.toLowerCase()}@wallet.${appUrl.hostname}`)
    const { user } = yield* Effect.flatten(users.findByEmail(email))
    return { signer, user, cookie: yield* sessionOf(answer) }
  })

  it.effect("The wallets of an account are linked by a proof, listed oldest first, and each signs in", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const [one, two] = [newSigner(), newSigner()]
      const first = yield* link(me, yield* proof(one))
      assert.strictEqual(first.status, 200, first.text)
      assert.deepStrictEqual(Object.keys(first.body).toSorted(), ["address", "linkedAt"])
      assert.strictEqual(first.body["address"], one.address)
      assert.match(String(first.body["linkedAt"]), /^\d{4}-\d\d-\d\dT.*Z$/)
      const second = yield* link(me, yield* proof(two))
      assert.deepStrictEqual(yield* list(me), [first.body, second.body])
      for (const signer of [one, two]) assert.strictEqual(yield* idOf(yield* signIn(yield* proof(signer))), me.user.id)
    })
  )

  it.effect("The wallets of an account are changed only within ten minutes of a sign-in, and listed at any time", () =>
    Effect.gen(function* () {
      const tooOld = { status: 403, code: "recent_sign_in_required" }
      const me = yield* App.signInNewUser()
      const ageTo = (interval: string) => sql`
        update sessions set authenticated_at = now() - ${interval}::interval where user_id = ${me.user.id}`
      const [one, two] = [newSigner(), newSigner()]
      yield* ageTo("9 minutes 50 seconds")
      assert.strictEqual((yield* link(me, yield* proof(one))).status, 200)
      yield* ageTo("10 minutes 1 second")
      const proven = yield* proof(two)
      assertError(yield* link(me, proven), tooOld)
      assertError(yield* link(me, { message: "", signature: "" }), tooOld)
      assertError(yield* unlink(me, one.address), tooOld)
      assertError(yield* unlink(me, two.address), tooOld)
      const [row] = yield* sql`select count(*)::int as wallets from wallets where user_id = ${me.user.id}`
      assert.deepStrictEqual(row, { wallets: 1 })
      assert.strictEqual((yield* (yield* App.TestApp).web({ method: "GET", path: settings, as: me })).status, 200)
      const again = yield* App.openSession(me.user)
      assert.strictEqual((yield* link(again, proven)).status, 200)
    })
  )

  it.effect("The wallets of an account are linked once, and a proof is accepted once", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const signer = newSigner()
      const once = yield* proof(signer)
      const first = yield* link(me, once)
      assertError(yield* link(me, once), { status: 400, code: "wallet_proof_rejected" })
      assertError(yield* signIn(once), refused)
      const again = yield* link(me, yield* proof(signer))
      assert.deepStrictEqual([again.status, again.body], [200, first.body])
    })
  )

  it.effect("The wallets of an account require the nonce of the browser from a page", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const me = yield* App.signInNewUser()
      const { origin } = appUrl
      assertError(yield* link(me, yield* proof(newSigner()), { origin }), {
        status: 400,
        code: "wallet_proof_rejected"
      })
      const requested = yield* App.web({ method: "GET", path: "/api/auth/nonce" })
      const cookie = `${me.cookie}; ${pairOf(requested, `berth_wallet_nonce_${appUrl.port}`)}`
      const linked = yield* link(me, yield* proof(newSigner(), { nonce: String(requested.body["nonce"]) }), {
        origin,
        cookie
      })
      assert.strictEqual(linked.status, 200, linked.text)
    })
  )

  it.effect("The wallets of an account belong to one user: linking is 409 for every other user", () =>
    Effect.gen(function* () {
      const taken = { status: 409, code: "wallet_already_linked" }
      const [owner, me] = [yield* comer, yield* App.signInNewUser()]
      assertError(yield* link(me, yield* proof(owner.signer)), taken)
      yield* sql`delete from wallets where user_id = ${owner.user.id}`
      assertError(yield* link(me, yield* proof(owner.signer)), taken)
      assert.deepStrictEqual(yield* list(me), [])
    })
  )

  it.effect("The wallets of an account belong to one of the users who link them concurrently", () =>
    Effect.gen(function* () {
      const signer = newSigner()
      const users = yield* Effect.replicateEffect(App.signInNewUser(), 8)
      const answers = yield* Effect.forEach(users, (me) => Effect.flatMap(proof(signer), (one) => link(me, one)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, ...Array.from({ length: 7 }, () => 409)]
      )
    })
  )

  it.effect("The wallets of an account are limited to fifty, also under concurrent requests", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      for (let index = 0; index < 49; index++)
        yield* sql`insert into wallets values (${makePrivateKey().address}, ${me.user.id}, now())`
      const proofs = yield* Effect.replicateEffect(
        Effect.suspend(() => proof(newSigner())),
        4
      )
      const answers = yield* Effect.forEach(proofs, (one) => link(me, one), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409, 409, 409]
      )
      assert.include(
        answers.map(({ body }) => body["code"]),
        "wallet_limit_reached"
      )
    })
  )

  it.effect("The wallets of an account are unlinked by the address in any case and sign in no longer", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const signer = newSigner()
      yield* link(me, yield* proof(signer))
      const answer = yield* unlink(me, signer.address.toLowerCase())
      assert.deepStrictEqual([answer.status, answer.body], [200, { success: true }])
      assert.deepStrictEqual(yield* list(me), [])
      assert.notStrictEqual(yield* idOf(yield* signIn(yield* proof(signer))), me.user.id)
    })
  )

  it.effect("The wallets of an account of another user are neither listed nor unlinked (404)", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* comer, yield* App.signInNewUser()]
      const ofAnother = yield* unlink(stranger, owner.signer.address)
      assertError(ofAnother, { status: 404, code: "wallet_not_found" })
      assert.strictEqual(withoutTraceId(yield* unlink(stranger, makePrivateKey().address)), withoutTraceId(ofAnother))
      assert.deepStrictEqual(yield* list(stranger), [])
      assert.isNotEmpty(yield* list({ user: owner.user, cookie: owner.cookie }))
    })
  )

  it.effect("The wallets of an account keep the last access method, also under concurrent unlinking", () =>
    Effect.gen(function* () {
      const me = yield* comer
      assertError(yield* unlink(me, me.signer.address), { status: 409, code: "last_access_method_required" })
      yield* sql`update users set email = ${`${yield* uniqueName("own")}@example.com`} where id = ${me.user.id}`
      const other = newSigner()
      yield* link(me, yield* proof(other))
      const answers = yield* Effect.forEach([me.signer, other], ({ address }) => unlink(me, address), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409]
      )
    })
  )

  it.effect("The wallets of an account are not unlinked while the email is derived from them", () =>
    Effect.gen(function* () {
      const me = yield* comer
      yield* link(me, yield* proof(newSigner()))
      assertError(yield* unlink(me, me.signer.address), { status: 409, code: "wallet_email_in_use" })
      assert.strictEqual(yield* idOf(yield* signIn(yield* proof(me.signer))), me.user.id)
    })
  )
})
