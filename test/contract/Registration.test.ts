import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readMailsTo } from "../support/Mailbox.ts"
import { uniqueName } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"

const password = "correct horse battery"
const freshEmail = Effect.map(uniqueName("new"), (local) => `${local}@example.com`)

const register = (json: unknown) => App.web({ method: "POST", path: "/api/register", json })

const signIn = (email: string, candidate: string) =>
  App.web({ method: "POST", path: "/api/auth/callback/credentials", json: { email, password: candidate } })

const settingsBy = (cookie: string) =>
  Effect.map(App.web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ body }) => body)

const settingsOf = (email: string, candidate = password) =>
  Effect.gen(function* () {
    const { headers, status } = yield* signIn(email, candidate)
    assert.strictEqual(status, 200)
    return yield* settingsBy(headers["set-cookie"]?.[0]?.split(";")[0] ?? "")
  })

layer(App.layer(), { excludeTestServices: true })("Registration", (it) => {
  it.effect("Registration creates an account without a plan or credits, and opens no session", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      const answer = yield* register({ email, password, name: "Ada" })
      assert.strictEqual(answer.status, 200)
      assert.notProperty(answer.headers, "set-cookie")
      assert.deepStrictEqual(yield* settingsOf(email), {
        id: answer.body["id"],
        email,
        name: "Ada",
        plan: "free",
        credits: 0,
        twoFactorEnabled: false
      })
    })
  )

  it.effect("Registration uses the email as the name when no name is given, and trims both", () =>
    Effect.gen(function* () {
      for (const name of [undefined, null, "", "  "]) {
        const email = yield* freshEmail
        const { body } = yield* register({ email: `  ${email} `, password, name })
        assert.deepStrictEqual([body["email"], body["name"]], [email, email])
      }
      const { body } = yield* register({ email: yield* freshEmail, password, name: "  Ada " })
      assert.strictEqual(body["name"], "Ada")
    })
  )

  it.effect("Registration names every invalid field and its problem", () =>
    Effect.gen(function* () {
      const answer = yield* register({ email: "bad", password: "short", name: "\u202e", referralCode: "NONE" })
      assertError(answer, { status: 400, code: "account_fields_invalid" })
      const message = String(answer.body["message"])
      for (const field of ["email", "password", "name", "referralCode"]) assert.include(message, `${field}: `)
      assert.containSubset(answer.body["problems"], [
        { code: "email_invalid" },
        { code: "display_name_invalid" },
        { code: "password_rejected", message: "password: must have at least 8 characters" },
        { code: "referral_code_invalid" }
      ])
      const one = yield* register({ email: "bad", password })
      assertError(one, { status: 400, code: "email_invalid" })
    })
  )

  it.effect("Registration accepts the shortest and the longest password untruncated", () =>
    Effect.gen(function* () {
      for (const candidate of ["1234567é", "é".repeat(512), " 2345678", "pass\u200bword😀"]) {
        const email = yield* freshEmail
        assert.strictEqual((yield* register({ email, password: candidate })).status, 200)
        assert.strictEqual((yield* settingsOf(email, candidate))["email"], email)
        assert.strictEqual((yield* signIn(email, [...candidate].slice(0, -1).join(""))).status, 401)
      }
    })
  )

  it.effect("Registration succeeds for one of concurrent requests with one email", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      const spellings = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? email : email.toUpperCase()))
      const answers = yield* Effect.forEach(
        spellings,
        (spelling, index) => register({ email: spelling, password: `${password} ${index}` }),
        { concurrency: "unbounded" }
      )
      const winners = answers.flatMap(({ status }, index) => (status === 200 ? [index] : []))
      assert.strictEqual(winners.length, 1)
      for (const answer of answers)
        if (answer.status !== 200) assertError(answer, { status: 409, code: "email_already_taken" })
      const settings = yield* settingsOf(email, `${password} ${winners[0]}`)
      assert.strictEqual(settings["id"], answers[winners[0] ?? 0]?.body["id"])
    })
  )
})

layer(App.layer({ maxWaitingHashes: 4 }), { excludeTestServices: true })("Concurrent registrations", (it) => {
  it.effect("Concurrent registrations with one email create one account, mail one link and compute one hash", () =>
    Effect.gen(function* () {
      const { passwordHasherCalls } = yield* App.TestApp
      const email = yield* freshEmail
      const before = (yield* passwordHasherCalls).length
      const answers = yield* Effect.replicateEffect(register({ email, password }), 40, { concurrency: "unbounded" })
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        1
      )
      for (const answer of answers)
        if (answer.status !== 200) assertError(answer, { status: 409, code: "email_already_taken" })
      assert.deepStrictEqual((yield* passwordHasherCalls).slice(before), ["hash"])
      assert.lengthOf(yield* readMailsTo(email), 1)
    })
  )

  it.effect("Concurrent registrations with many emails are 503 above the hash queue, and delay no other requests", () =>
    Effect.gen(function* () {
      const reader = yield* App.signInNewUser()
      const storm = yield* Effect.forkDaemon(
        Effect.replicateEffect(
          Effect.flatMap(freshEmail, (email) => register({ email, password })),
          40,
          { concurrency: "unbounded" }
        )
      )
      const reads: Array<number> = []
      while (storm.unsafePoll() === null)
        reads.push((yield* App.web({ method: "GET", path: "/api/settings", as: reader })).status)
      const answers = yield* Effect.flatten(storm.await)
      assert.isAbove(reads.length, 0)
      assert.deepStrictEqual([...new Set(reads)], [200])
      for (const answer of answers)
        if (answer.status !== 200) assertError(answer, { status: 503, code: "service_unavailable" })
      assert.isTrue(answers.some(({ status }) => status === 200))
    })
  )
})

layer(App.layer(), { excludeTestServices: true })("A referral", (it) => {
  it.effect("A referral credits both users, whatever the case of the code", () =>
    Effect.gen(function* () {
      const referrer = yield* App.signInNewUser()
      const codes = [referrer.user.referralCode, referrer.user.referralCode.toUpperCase()]
      for (const referralCode of codes) {
        const email = yield* freshEmail
        assert.strictEqual((yield* register({ email, password, referralCode })).status, 200)
        assert.strictEqual((yield* settingsOf(email))["credits"], App.referralCredits)
      }
      assert.strictEqual((yield* settingsBy(referrer.cookie))["credits"], 2 * App.referralCredits)
    })
  )

  it.effect("A referral credits no user when the registration fails", () =>
    Effect.gen(function* () {
      const referrer = yield* App.signInNewUser()
      const taken = yield* App.signInNewUser()
      const { referralCode } = referrer.user
      const refused = [
        yield* register({ email: taken.user.email, password, referralCode }),
        yield* register({ email: yield* freshEmail, password: "short", referralCode }),
        yield* register({ email: "nobody", password, referralCode })
      ]
      assert.deepStrictEqual(
        refused.map(({ status }) => status),
        [409, 400, 400]
      )
      for (const member of [referrer, taken]) assert.strictEqual((yield* settingsBy(member.cookie))["credits"], 0)
    })
  )

  it.effect("A referral is rejected with a malformed or unknown code, without an account", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      for (const referralCode of ["no code", "code_1", "a".repeat(21), "nobodys"])
        assertError(yield* register({ email, password, referralCode }), { status: 400, code: "referral_code_invalid" })
      assert.strictEqual((yield* register({ email, password, referralCode: "" })).status, 200)
    })
  )

  it.effect("A referral credits both users ten times a day for each code, and neither of them above", () =>
    Effect.gen(function* () {
      const referrer = yield* App.signInNewUser()
      const { referralCode } = referrer.user
      const seen = Effect.map(
        App.web({ method: "GET", path: "/api/settings/referral", as: referrer }),
        ({ body }) => body
      )
      assert.deepStrictEqual(yield* seen, {
        code: referralCode,
        credits: App.referralCredits,
        referrals: 0,
        pending: 0,
        earnedCredits: 0,
        rewardsLeftToday: 10
      })
      const refer = Effect.flatMap(freshEmail, (email) => Effect.as(register({ email, password, referralCode }), email))
      const emails = yield* Effect.replicateEffect(refer, 12, { concurrency: 4 })
      assert.strictEqual((yield* settingsBy(referrer.cookie))["credits"], 10 * App.referralCredits)
      const newcomers = yield* Effect.forEach(emails, (email) =>
        Effect.map(settingsOf(email), ({ credits }) => Number(credits))
      )
      assert.deepStrictEqual(
        newcomers.toSorted((a, b) => a - b),
        [0, 0, ...Array.from({ length: 10 }, () => App.referralCredits)]
      )
      assert.deepInclude(yield* seen, { referrals: 12, earnedCredits: 10 * App.referralCredits, rewardsLeftToday: 0 })
      yield* sql`update referral_rewards set created_at = created_at - interval '1 day' where referrer_id = ${referrer.user.id}`
      const next = yield* refer
      assert.strictEqual((yield* settingsOf(next))["credits"], App.referralCredits)
      assert.strictEqual((yield* settingsBy(referrer.cookie))["credits"], 11 * App.referralCredits)
    })
  )

  it.effect("A referral counts concurrent registrations exactly", () =>
    Effect.gen(function* () {
      const referrer = yield* App.signInNewUser()
      const answers = yield* Effect.replicateEffect(
        Effect.flatMap(freshEmail, (email) => register({ email, password, referralCode: referrer.user.referralCode })),
        6,
        { concurrency: "unbounded" }
      )
      assert.isTrue(answers.every(({ status }) => status === 200))
      assert.strictEqual((yield* settingsBy(referrer.cookie))["credits"], 6 * App.referralCredits)
    })
  )
})
