import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { findResetToken, findVerificationToken, readMailsTo } from "../support/Mailbox.ts"
import { signSignInMessage } from "../support/chain/SignInMessages.ts"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"
import {
  issuerAppLayer,
  IssuerUnderTest,
  signInWithToken,
  tokenWithClaims
} from "../support/identity/IssuedTokenSignIn.ts"
import { uniqueName } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"

const password = "correct horse battery"
const nextPassword = "another horse battery"

const post = (path: string, json: unknown, cookie = "") => App.web({ method: "POST", path, json, headers: { cookie } })

const unverifiedUser = Effect.gen(function* () {
  const email = `${yield* uniqueName("notice")}@example.com`
  const { body } = yield* post("/api/register", { email, password })
  const user = yield* Effect.flatten((yield* UserRepository).find(UserId.make(String(body["id"]))))
  return { ...(yield* App.openSession(user)), email }
})

const verifiedUser = Effect.tap(unverifiedUser, ({ user }) =>
  Effect.flatMap(UserRepository, ({ markEmailVerified }) => markEmailVerified(user.id))
)

const linkWallet = (cookie: string) =>
  Effect.gen(function* () {
    const { appUrl } = yield* App.TestApp
    const key = makePrivateKey()
    const signer = { address: key.address, sign: (message: string) => key.signMessage({ message }) }
    const linked = yield* post("/api/settings/wallets", yield* signSignInMessage(appUrl, signer), cookie)
    assert.strictEqual(linked.status, 200, linked.text)
    return key.address
  })

const signInByProvider = (email: string) =>
  signInWithToken(
    tokenWithClaims(() => ({ email, email_verified: true })),
    { subject: email }
  )

const noticesTo = (email: string) =>
  Effect.map(readMailsTo(email), (mails) =>
    mails.filter(({ subject }) => subject === "A new way to sign in to your account").map(({ text }) => text)
  )

layer(issuerAppLayer(), { excludeTestServices: true })("A new access method of an account", (it) => {
  it.effect("A new access method is reported to the verified address when a wallet is linked, once", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const { cookie, email } = yield* verifiedUser
      const address = yield* linkWallet(cookie)
      const [text = "", ...more] = yield* noticesTo(email)
      assert.isEmpty(more)
      assert.include(text, `The wallet ${address} was linked.`)
      assert.include(text, `${appUrl.origin}/login`)
    })
  )

  it.effect("A new access method is reported when a provider is linked, and not at its later sign-ins", () =>
    Effect.gen(function* () {
      const { origin } = yield* IssuerUnderTest
      const { email } = yield* verifiedUser
      for (let times = 0; times < 2; times++) assert.strictEqual((yield* signInByProvider(email)).status, 302)
      const [text = "", ...more] = yield* noticesTo(email)
      assert.isEmpty(more)
      assert.include(text, `A sign-in at ${origin.origin} was linked.`)
    })
  )

  it.effect("A new access method is not reported when a provider creates the account", () =>
    Effect.gen(function* () {
      const email = `${yield* uniqueName("new")}@example.com`
      assert.strictEqual((yield* signInByProvider(email)).status, 302)
      assert.isEmpty(yield* noticesTo(email))
    })
  )

  it.effect("A new access method is reported when the password is changed or reset", () =>
    Effect.gen(function* () {
      const { cookie, email } = yield* verifiedUser
      const change = { currentPassword: password, newPassword: nextPassword }
      assert.strictEqual((yield* post("/api/settings/password", change, cookie)).status, 200)
      yield* post("/api/auth/forgot-password", { email })
      const token = yield* findResetToken(email)
      assert.strictEqual((yield* post("/api/auth/reset-password", { token, password })).status, 200)
      const [changed = "", reset = "", ...more] = yield* noticesTo(email)
      assert.isEmpty(more)
      assert.include(changed, "The password was changed.")
      assert.include(reset, "A new password was set by a mailed link.")
    })
  )

  it.effect("A new access method is reported to the previous address while the present one is unverified", () =>
    Effect.gen(function* () {
      const { cookie, email } = yield* verifiedUser
      const fresh = `${yield* uniqueName("fresh")}@example.com`
      assert.strictEqual((yield* post("/api/settings", { email: fresh }, cookie)).status, 200)
      yield* linkWallet(cookie)
      assert.lengthOf(yield* noticesTo(email), 1)
      assert.isEmpty(yield* noticesTo(fresh))
      const token = yield* findVerificationToken(fresh)
      yield* App.web({ method: "GET", path: `/api/auth/verify-email?token=${encodeURIComponent(token)}` })
      yield* linkWallet(cookie)
      assert.lengthOf(yield* noticesTo(email), 1)
      assert.lengthOf(yield* noticesTo(fresh), 1)
    })
  )

  it.effect("A new access method is reported with any preferences, and never to an unverified address", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* verifiedUser, yield* unverifiedUser]
      const notifications = { email: false, security: false }
      yield* App.web({ method: "PATCH", path: "/api/settings", as: owner, json: { notifications } })
      for (const { cookie } of [owner, stranger]) yield* linkWallet(cookie)
      assert.lengthOf(yield* noticesTo(owner.email), 1)
      assert.isEmpty(yield* noticesTo(stranger.email))
      const [row] = yield* sql`select count(*)::int as wallets from wallets where user_id = ${stranger.user.id}`
      assert.deepStrictEqual(row, { wallets: 1 })
    })
  )
})
