import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Option } from "effect"
import { readMailsTo, findVerificationToken } from "../support/Mailbox.ts"
import { uniqueName } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { UserId } from "@berth/domain/shared/UserId"

const password = "correct horse battery"
const freshEmail = Effect.map(uniqueName("new"), (local) => `${local}@example.com`)

const register = (email: string, more: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const answer = yield* App.web({ method: "POST", path: "/api/register", json: { email, password, ...more } })
    assert.strictEqual(answer.status, 200, answer.text)
    const user = yield* (yield* UserRepository).find(UserId.make(String(answer.body["id"])))
    return yield* App.openSession(Option.getOrThrow(user))
  })

const open = (token: string, as?: App.SignedIn) =>
  App.web({
    method: "GET",
    path: `/api/auth/verify-email?token=${encodeURIComponent(token)}`,
    ...(as === undefined ? {} : { as })
  })

const setEmail = (as: App.SignedIn, email: string) =>
  App.web({ method: "POST", path: "/api/settings", as, json: { email } })

const isVerified = (as: App.SignedIn) =>
  Effect.map(
    Effect.flatMap(UserRepository, ({ find }) => find(as.user.id)),
    Option.exists(({ emailVerifiedAt }) => emailVerifiedAt !== null)
  )

const creditsOf = (as: App.SignedIn) =>
  Effect.map(App.web({ method: "GET", path: "/api/settings", as }), ({ body }) => body["credits"])

layer(App.layer(), { excludeTestServices: true })("An email address", (it) => {
  it.effect("An email address is confirmed by its mailed link, which redirects by the session of the browser", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const email = yield* freshEmail
      const me = yield* register(email, { name: "Click https://evil.example" })
      const [mail, ...more] = yield* readMailsTo(email)
      assert.lengthOf(more, 0)
      assert.include(mail?.text ?? "", `${appUrl.origin}/api/auth/verify-email?token=`)
      assert.notInclude(mail?.text ?? "", "evil.example")
      assert.isFalse(yield* isVerified(me))

      const token = yield* findVerificationToken(email)
      yield* App.web({ method: "HEAD", path: `/api/auth/verify-email?token=${encodeURIComponent(token)}` })
      assert.isFalse(yield* isVerified(me))
      const answer = yield* open(token)
      assert.deepStrictEqual(
        [answer.status, answer.headers.location, answer.text],
        [302, "/login?notice=email_verified", ""]
      )
      assert.strictEqual(answer.headers["referrer-policy"], "no-referrer")
      assert.notProperty(answer.headers, "set-cookie")
      assert.isTrue(yield* isVerified(me))
      // Mail programs prefetch links.
      const again = yield* open(token, me)
      assert.strictEqual(again.headers.location, "/dashboard?notice=email_verified")
    })
  )

  it.effect("An email address is confirmed by no other token", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      const me = yield* register(email)
      const token = yield* findVerificationToken(email)
      for (const wrong of ["", `${token}x`, token.toUpperCase(), "\u0001"])
        assert.strictEqual((yield* open(wrong)).headers.location, "/login?error=invalid_link")
      const bare = yield* App.web({ method: "GET", path: "/api/auth/verify-email" })
      assert.strictEqual(bare.headers.location, "/login?error=invalid_link")
      assert.strictEqual((yield* open("x", me)).headers.location, "/dashboard?error=invalid_link")
      yield* sql`update mailed_tokens set expires_at = now() - interval '1 second' where user_id = ${me.user.id}`
      assert.strictEqual((yield* open(token)).headers.location, "/login?error=invalid_link")
      assert.isFalse(yield* isVerified(me))
    })
  )

  it.effect("An email address is not confirmed by a reset token, and a confirmation token resets no password", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      yield* register(email)
      const token = yield* findVerificationToken(email)
      const answer = yield* App.web({
        method: "POST",
        path: "/api/auth/reset-password",
        json: { token, password: "another battery" }
      })
      assertError(answer, { status: 400, code: "reset_token_invalid" })
    })
  )

  it.effect("An email address is unconfirmed after a change, which is mailed to the old one and ends its link", () =>
    Effect.gen(function* () {
      const [old, fresh] = [yield* freshEmail, yield* freshEmail]
      const me = yield* register(old)
      const first = yield* findVerificationToken(old)
      yield* open(first)
      assert.isTrue(yield* isVerified(me))
      const changed = yield* setEmail(me, fresh)
      assert.deepStrictEqual([changed.status, changed.body["email"]], [200, fresh])
      assert.isFalse(yield* isVerified(me))
      assert.strictEqual((yield* open(first)).headers.location, "/login?error=invalid_link")
      const mail = (yield* readMailsTo(old)).at(-1)
      assert.strictEqual(mail?.subject, "Your email address was changed")
      assert.notInclude(mail?.text ?? "", fresh)
      yield* open(yield* findVerificationToken(fresh))
      assert.isTrue(yield* isVerified(me))
    })
  )

  it.effect("An email address stays confirmed in another spelling, without a mail", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      const me = yield* register(email)
      yield* open(yield* findVerificationToken(email))
      const before = (yield* readMailsTo(email)).length
      assert.strictEqual((yield* setEmail(me, email.toUpperCase())).body["email"], email.toUpperCase())
      assert.isTrue(yield* isVerified(me))
      assert.lengthOf(yield* readMailsTo(email), before)
    })
  )

  it.effect("An email address of another account is rejected without a mail, and revokes no link", () =>
    Effect.gen(function* () {
      const [mine, theirs] = [yield* freshEmail, yield* freshEmail]
      const me = yield* register(mine)
      yield* register(theirs)
      const token = yield* findVerificationToken(mine)
      const before = (yield* readMailsTo(theirs)).length
      assertError(yield* setEmail(me, theirs.toUpperCase()), { status: 409, code: "email_already_taken" })
      assert.lengthOf(yield* readMailsTo(theirs), before)
      assert.strictEqual((yield* open(token)).headers.location, "/login?notice=email_verified")
    })
  )

  it.effect("The last of concurrently changed email addresses has a valid link", () =>
    Effect.gen(function* () {
      const me = yield* register(yield* freshEmail)
      const addresses = yield* Effect.replicateEffect(freshEmail, 4)
      yield* Effect.forEach(addresses, (address) => setEmail(me, address), { concurrency: "unbounded" })
      const { body } = yield* App.web({ method: "GET", path: "/api/settings", as: me })
      const token = yield* findVerificationToken(String(body["email"]))
      assert.strictEqual((yield* open(token)).headers.location, "/login?notice=email_verified")
      assert.isTrue(yield* isVerified(me))
    })
  )

  it.effect("An email address gets new links on request until it is confirmed, the last one valid", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      const me = yield* register(email)
      const first = yield* findVerificationToken(email)
      const ask = App.web({ method: "POST", path: "/api/auth/verify-email", as: me })
      assert.deepStrictEqual(Object.keys((yield* ask).body), ["message"])
      const second = yield* findVerificationToken(email)
      assert.notStrictEqual(first, second)
      assert.strictEqual((yield* open(first)).headers.location, "/login?error=invalid_link")
      yield* open(second)
      assert.isTrue(yield* isVerified(me))
      assert.strictEqual((yield* ask).status, 200)
      assert.lengthOf(yield* readMailsTo(email), 2)
    })
  )

  it.effect("An email address derived from a wallet receives no mail", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const made = `0x${me.user.id.slice(-32)}@wallet.localhost`
      yield* sql`update users set email = ${made} where id = ${me.user.id}`
      assert.strictEqual((yield* App.web({ method: "POST", path: "/api/auth/verify-email", as: me })).status, 200)
      const fresh = yield* freshEmail
      assert.strictEqual((yield* setEmail(me, fresh)).status, 200)
      assert.lengthOf(yield* readMailsTo(made), 0)
      assert.lengthOf(yield* readMailsTo(fresh), 1)
    })
  )
})

const limits = { "email-verification": { count: 2, window: Duration.minutes(30) } }

layer(App.layer({ limits }), { excludeTestServices: true })("Verification mails", (it) => {
  it.effect("Verification mails are limited per user; requests without a mail are not counted", () =>
    Effect.gen(function* () {
      const [email, one, two] = yield* Effect.all([freshEmail, freshEmail, freshEmail])
      const me = yield* register(email)
      assert.strictEqual((yield* setEmail(me, one)).status, 200)
      assert.strictEqual((yield* App.web({ method: "POST", path: "/api/auth/verify-email", as: me })).status, 200)
      for (const answer of [
        yield* setEmail(me, two),
        yield* App.web({ method: "POST", path: "/api/auth/verify-email", as: me })
      ]) {
        assertError(answer, { status: 429, code: "rate_limit_exceeded" })
        assert.strictEqual(answer.body["limit"], "email-verification")
        assert.isAtLeast(Number(answer.headers["retry-after"]), 1)
      }
      assert.lengthOf(yield* readMailsTo(two), 0)
      const renamed = yield* App.web({
        method: "POST",
        path: "/api/settings",
        as: me,
        json: { name: "Ada", email: one }
      })
      assert.strictEqual(renamed.status, 200)
      const other = yield* register(yield* freshEmail)
      assert.strictEqual((yield* setEmail(other, two)).status, 200)
    })
  )
})

const inProduction = { verifiedEmailsOnly: true }

layer(App.layer(inProduction), { excludeTestServices: true })("In production", (it) => {
  it.effect("In production referral credits are paid once, when the new user's address is confirmed", () =>
    Effect.gen(function* () {
      const referrer = yield* App.signInNewUser()
      const email = yield* freshEmail
      const newcomer = yield* register(email, { referralCode: referrer.user.referralCode })
      const seen = (as: App.SignedIn) =>
        Effect.map(App.web({ method: "GET", path: "/api/settings/referral", as }), ({ body }) => body)
      assert.deepStrictEqual([yield* creditsOf(referrer), yield* creditsOf(newcomer)], [0, 0])
      assert.deepInclude(yield* seen(referrer), { referrals: 1, pending: 1, earnedCredits: 0, rewardsLeftToday: 9 })
      const token = yield* findVerificationToken(email)
      yield* Effect.replicateEffect(open(token, newcomer), 12, { concurrency: "unbounded" })
      const { referralCredits } = App
      assert.deepStrictEqual(
        [yield* creditsOf(referrer), yield* creditsOf(newcomer)],
        [referralCredits, referralCredits]
      )
      assert.deepInclude(yield* seen(referrer), { referrals: 1, pending: 0, earnedCredits: referralCredits })
    })
  )

  it.effect("In production referral credits are paid by whichever address is confirmed first", () =>
    Effect.gen(function* () {
      const referrer = yield* App.signInNewUser()
      const [email, fresh] = [yield* freshEmail, yield* freshEmail]
      const newcomer = yield* register(email, { referralCode: referrer.user.referralCode })
      yield* setEmail(newcomer, fresh)
      yield* open(yield* findVerificationToken(email), newcomer)
      assert.strictEqual(yield* creditsOf(newcomer), 0)
      yield* open(yield* findVerificationToken(fresh), newcomer)
      assert.strictEqual(yield* creditsOf(newcomer), App.referralCredits)
      assert.strictEqual(yield* creditsOf(referrer), App.referralCredits)
    })
  )

  it.effect("A link confirms only in a session of its account, and redirects others to the sign-in", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      const me = yield* register(email)
      const token = yield* findVerificationToken(email)
      const link = `/api/auth/verify-email?token=${encodeURIComponent(token)}`
      const anonymous = yield* open(token)
      const requested = new URL(anonymous.headers.location ?? "", "http://localhost")
      assert.strictEqual(requested.pathname, "/login")
      assert.deepStrictEqual(Object.fromEntries(requested.searchParams), {
        notice: "sign_in_to_confirm",
        callbackUrl: link
      })
      const other = yield* App.signInNewUser()
      assert.strictEqual((yield* open(token, other)).headers.location, "/dashboard?error=another_account")
      assert.strictEqual((yield* App.web({ method: "HEAD", path: link, as: me })).status, 302)
      assert.isFalse(yield* isVerified(me))
      assert.strictEqual((yield* open(token, me)).headers.location, "/dashboard?notice=email_verified")
      assert.isTrue(yield* isVerified(me))
    })
  )

  it.effect("The refusals of an unconfirmed address name the confirmation", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      const me = yield* register(email)
      const provision = App.web({ method: "POST", path: "/api/agents/provision", as: me, json: { name: "Ada" } })
      const call = App.web({
        method: "POST",
        path: "/api/v1/gateway",
        as: me,
        json: { messages: [{ role: "user", content: "hello" }] }
      })
      const sentenceOf = (response: { readonly body: Readonly<Record<string, unknown>> }) =>
        String(response.body["message"])
      assert.match(sentenceOf(yield* provision), /choose a plan at \/pricing\.$/)
      const unpaid = yield* call
      assert.deepStrictEqual([unpaid.status, unpaid.body["code"]], [402, "payment_required"])
      assert.match(sentenceOf(unpaid), /^Confirm your email address .*POST \/api\/auth\/verify-email/)
      yield* open(yield* findVerificationToken(email), me)
      assert.match(sentenceOf(yield* provision), /choose a plan at \/pricing\.$/)
      assert.notMatch(sentenceOf(yield* call), /^Confirm/)
    })
  )

  it.effect("An unconfirmed address makes no administrator", () =>
    Effect.gen(function* () {
      const me = yield* register(yield* freshEmail)
      const provision = App.web({ method: "POST", path: "/api/agents/provision", as: me, json: { name: "Ada" } })
      assert.strictEqual((yield* setEmail(me, App.testAdminEmail)).status, 200)
      assertError(yield* provision, { status: 402, code: "subscription_required" })
      yield* open(yield* findVerificationToken(App.testAdminEmail), me)
      assert.strictEqual((yield* provision).status, 201)
      assert.strictEqual((yield* setEmail(me, yield* freshEmail)).status, 200)
      assertError(yield* App.web({ method: "POST", path: "/api/agents/provision", as: me, json: { name: "Bob" } }), {
        status: 402,
        code: "subscription_required"
      })
    })
  )
})
