import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { CredentialRepository } from "@berth/domain/secrets/CredentialRepository"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, layer } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { findResetToken, findUndoToken, findVerificationToken, readMailsTo } from "../support/Mailbox.ts"
import { type MessageSigner, signSignInMessage } from "../support/chain/SignInMessages.ts"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { uniqueName } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { undoEmailChange } from "./OwnerFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"

const password = "correct horse battery"
const nextPassword = "another horse battery"
const freshEmail = Effect.map(uniqueName("mail"), (local) => `${local}@example.com`)

const register = (email: string) => App.web({ method: "POST", path: "/api/register", json: { email, password } })

const verifiedUser = Effect.gen(function* () {
  const email = yield* freshEmail
  const { body } = yield* register(email)
  const token = yield* findVerificationToken(email)
  yield* App.web({ method: "GET", path: `/api/auth/verify-email?token=${encodeURIComponent(token)}` })
  const user = yield* (yield* UserRepository).find(UserId.make(String(body["id"])))
  return { ...(yield* App.openSession(Option.getOrThrow(user))), email }
})

const setEmail = (as: App.SignedIn, email: string) =>
  App.web({ method: "POST", path: "/api/settings", as, json: { email } })

const forgot = (email: string) => App.web({ method: "POST", path: "/api/auth/forgot-password", json: { email } })

const reset = (token: string) =>
  App.web({ method: "POST", path: "/api/auth/reset-password", json: { token, password: nextPassword } })

const findUser = (as: App.SignedIn) =>
  Effect.flatMap(
    Effect.flatMap(UserRepository, ({ find }) => find(as.user.id)),
    Effect.orDie
  )

layer(App.layer(), { excludeTestServices: true })("For seven days after an email change", (it) => {
  it.effect("The link in the mail to the previous address restores it and revokes all sessions, once", () =>
    Effect.gen(function* () {
      const [me, fresh] = [yield* verifiedUser, yield* freshEmail]
      assert.strictEqual((yield* setEmail(me, fresh)).status, 200)
      const token = yield* findUndoToken(me.email)
      const page = yield* App.web({ method: "GET", path: `/undo-email-change?token=${token}` })
      assert.notInclude(page.text, "<script")
      assert.deepStrictEqual([page.status, page.headers["referrer-policy"]], [200, "no-referrer"])
      assert.strictEqual((yield* findUser(me)).email, fresh)

      const answer = yield* undoEmailChange(token)
      assert.deepStrictEqual([answer.status, answer.headers.location], [303, "/login?notice=email_change_undone"])
      const restored = yield* findUser(me)
      assert.strictEqual(restored.email, me.email)
      assert.isNotNull(restored.emailVerifiedAt)
      assert.strictEqual((yield* App.web({ method: "GET", path: "/api/settings", as: me })).status, 401)
      assert.strictEqual((yield* undoEmailChange(token)).status, 400)
    })
  )

  it.effect("Undoing an email change removes later access methods, and keeps earlier ones", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const [me, fresh] = [yield* verifiedUser, yield* freshEmail]
      const key = () => {
        const { address, signMessage } = makePrivateKey()
        return { address, sign: (message: string) => signMessage({ message }) }
      }
      const [earlier, later] = [key(), key()]
      const link = (as: App.SignedIn, signer: MessageSigner) =>
        Effect.flatMap(signSignInMessage(appUrl, signer), (json) =>
          App.web({ method: "POST", path: "/api/settings/wallets", as, json })
        )
      const signInByWallet = (signer: MessageSigner) =>
        Effect.flatMap(signSignInMessage(appUrl, signer), (json) =>
          App.web({ method: "POST", path: "/api/auth/callback/wallet", json })
        )
      const ownerOf = ({ headers }: HttpCallResponse) =>
        Effect.map(
          App.web({
            method: "GET",
            path: "/api/settings",
            headers: { cookie: (headers["set-cookie"] ?? [])[0]?.split(";")[0] ?? "" }
          }),
          ({ body }) => body["id"]
        )
      const { set, listKeys } = yield* CredentialRepository
      assert.strictEqual((yield* link(me, earlier)).status, 200)
      yield* set(me.user.id, "openai", Redacted.make("sk-owner"))
      // A stolen session changes the address, confirms it, resets the password with it, and adds a wallet and a key.
      yield* setEmail(me, fresh)
      const confirmation = yield* findVerificationToken(fresh)
      yield* App.web({ method: "GET", path: `/api/auth/verify-email?token=${encodeURIComponent(confirmation)}` })
      yield* forgot(fresh)
      assert.strictEqual((yield* reset(yield* findResetToken(fresh))).status, 200)
      const thief = yield* App.openSession(me.user)
      assert.strictEqual((yield* link(thief, later)).status, 200)
      yield* set(me.user.id, "telegram", Redacted.make("a stranger's bot"))
      const { headers } = yield* createApiKey(thief, "agents")

      assert.strictEqual((yield* undoEmailChange(yield* findUndoToken(me.email))).status, 303)
      const signIn = (password: string) =>
        App.web({
          method: "POST",
          path: "/api/auth/callback/credentials",
          json: { email: me.email, password }
        })
      assert.strictEqual((yield* signIn(nextPassword)).status, 401)
      assert.notStrictEqual(yield* ownerOf(yield* signInByWallet(later)), me.user.id)
      assert.strictEqual(yield* ownerOf(yield* signInByWallet(earlier)), me.user.id)
      assert.deepStrictEqual(yield* listKeys(me.user.id), ["openai"])
      assert.strictEqual((yield* App.web({ method: "GET", path: "/api/agents", headers })).status, 401)
    })
  )

  it.effect("Undoing an email change keeps a password that is older than the change", () =>
    Effect.gen(function* () {
      const me = yield* verifiedUser
      yield* setEmail(me, yield* freshEmail)
      assert.strictEqual((yield* undoEmailChange(yield* findUndoToken(me.email))).status, 303)
      const json = { email: me.email, password }
      assert.strictEqual((yield* App.web({ method: "POST", path: "/api/auth/callback/credentials", json })).status, 200)
    })
  )

  it.effect("The first verified address keeps its link through further changes", () =>
    Effect.gen(function* () {
      const [me, second, third] = [yield* verifiedUser, yield* freshEmail, yield* freshEmail]
      yield* setEmail(me, second)
      const confirmation = yield* findVerificationToken(second)
      yield* App.web({ method: "GET", path: `/api/auth/verify-email?token=${encodeURIComponent(confirmation)}` })
      yield* setEmail(me, third)
      assert.strictEqual(yield* findUndoToken(second), "")
      assert.strictEqual((yield* undoEmailChange(yield* findUndoToken(me.email))).status, 303)
      assert.strictEqual((yield* findUser(me)).email, me.email)
    })
  )

  it.effect("A password can be reset through the previous address, and the new one stays unverified", () =>
    Effect.gen(function* () {
      const [me, fresh] = [yield* verifiedUser, yield* freshEmail]
      yield* setEmail(me, fresh)
      yield* forgot(me.email.toUpperCase())
      assert.strictEqual((yield* reset(yield* findResetToken(me.email))).status, 200)
      const user = yield* findUser(me)
      assert.deepStrictEqual([user.email, user.emailVerifiedAt], [fresh, null])
    })
  )

  it.effect("The unverified new address gets no reset link", () =>
    Effect.gen(function* () {
      const [me, fresh] = [yield* verifiedUser, yield* freshEmail]
      yield* setEmail(me, fresh)
      const before = (yield* readMailsTo(fresh)).length
      yield* forgot(fresh)
      assert.lengthOf(yield* readMailsTo(fresh), before)
    })
  )

  it.effect("The previous address is reserved for its account", () =>
    Effect.gen(function* () {
      const [me, fresh, other] = [yield* verifiedUser, yield* freshEmail, yield* verifiedUser]
      yield* setEmail(me, fresh)
      assertError(yield* register(me.email), { status: 409, code: "email_already_taken" })
      assertError(yield* setEmail(other, me.email), { status: 409, code: "email_already_taken" })
      assert.strictEqual((yield* setEmail(me, me.email)).status, 200)
    })
  )

  it.effect("The previous address of an email change loses its rights after seven days", () =>
    Effect.gen(function* () {
      const [me, fresh] = [yield* verifiedUser, yield* freshEmail]
      yield* setEmail(me, fresh)
      const token = yield* findUndoToken(me.email)
      yield* sql`update mailed_tokens set expires_at = now() where user_id = ${me.user.id} and purpose = 'email-change-undo'`
      assert.strictEqual((yield* undoEmailChange(token)).status, 400)
      yield* forgot(me.email)
      assert.strictEqual(yield* findResetToken(me.email), "")
      yield* forgot(fresh)
      assert.strictEqual((yield* reset(yield* findResetToken(fresh))).status, 200)
      assert.strictEqual((yield* register(me.email)).status, 200)
    })
  )
})
