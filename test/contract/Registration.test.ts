import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { unique } from "../support/Samples.ts"
import * as App from "../support/WebApp.ts"
import { assertError } from "./Answers.ts"

const password = "correct horse battery"
const freshEmail = Effect.map(unique("new"), (local) => `${local}@example.com`)

const register = (json: unknown) =>
  Effect.flatMap(App.WebApp, ({ web }) => web({ method: "POST", path: "/api/register", json }))

const signIn = (email: string, given: string) =>
  Effect.flatMap(App.WebApp, ({ web }) =>
    web({ method: "POST", path: "/api/auth/callback/credentials", json: { email, password: given } })
  )

const settingsBy = (cookie: string) =>
  Effect.flatMap(App.WebApp, ({ web }) =>
    Effect.map(web({ method: "GET", path: "/api/settings", headers: { cookie } }), ({ body }) => body)
  )

/** The settings of whom a password lets in. */
const settingsOf = (email: string, given = password) =>
  Effect.gen(function* () {
    const { headers, status } = yield* signIn(email, given)
    assert.strictEqual(status, 200)
    return yield* settingsBy(headers["set-cookie"]?.[0]?.split(";")[0] ?? "")
  })

layer(App.layer(), { excludeTestServices: true })("Registration", (it) => {
  it.effect("makes an account without a plan or credits, and signs nobody in", () =>
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

  it.effect("names a user by his e-mail when no name is given, and trims both", () =>
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

  it.effect("takes the shortest and the longest password, whole", () =>
    Effect.gen(function* () {
      for (const given of ["12345678", "é".repeat(512), " 2345678", "pass\u200bword😀"]) {
        const email = yield* freshEmail
        assert.strictEqual((yield* register({ email, password: given })).status, 200)
        assert.strictEqual((yield* settingsOf(email, given))["email"], email)
        assert.strictEqual((yield* signIn(email, [...given].slice(0, -1).join(""))).status, 401)
      }
    })
  )

  it.effect("of many at once with one e-mail one wins", () =>
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
      for (const answer of answers) if (answer.status !== 200) assertError(answer, { status: 409, code: "email_taken" })
      const settings = yield* settingsOf(email, `${password} ${winners[0]}`)
      assert.strictEqual(settings["id"], answers[winners[0] ?? 0]?.body["id"])
    })
  )
})

layer(App.layer(), { excludeTestServices: true })("A referral", (it) => {
  it.effect("credits both, whatever the case of the code", () =>
    Effect.gen(function* () {
      const referrer = yield* App.newcomer()
      const codes = [referrer.user.referralCode, referrer.user.referralCode.toUpperCase()]
      for (const referralCode of codes) {
        const email = yield* freshEmail
        assert.strictEqual((yield* register({ email, password, referralCode })).status, 200)
        assert.strictEqual((yield* settingsOf(email))["credits"], App.referralCredits)
      }
      assert.strictEqual((yield* settingsBy(referrer.cookie))["credits"], 2 * App.referralCredits)
    })
  )

  it.effect("that comes to nothing credits nobody", () =>
    Effect.gen(function* () {
      const referrer = yield* App.newcomer()
      const taken = yield* App.newcomer()
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

  it.effect("is refused when the code is none or nobody's, and then there is no account", () =>
    Effect.gen(function* () {
      const email = yield* freshEmail
      for (const referralCode of ["no code", "code_1", "a".repeat(21), "nobodys"])
        assertError(yield* register({ email, password, referralCode }), { status: 400, code: "invalid_referral_code" })
      assert.strictEqual((yield* register({ email, password, referralCode: "" })).status, 200)
    })
  )

  it.effect("counts every one of many at once", () =>
    Effect.gen(function* () {
      const referrer = yield* App.newcomer()
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
