import { CreditGrants } from "@berth/domain/accounts/referrals/CreditGrants"
import * as PostgresCreditGrants from "@berth/infra/postgres/billing/PostgresCreditGrants"
import { EmailAlreadyTaken } from "@berth/domain/accounts/AccountErrors"
import { Email } from "@berth/domain/shared/Email"
import { defaultNotificationPreferences } from "@berth/domain/shared/User"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Either, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { Credits } from "@berth/domain/shared/Money"

const Live = Layer.mergeAll(PostgresUserRepository.layer, PostgresCreditGrants.layer, PostgresTransaction.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const newUser = (email: string) =>
  Effect.map(uniqueName("new"), (code) => ({
    id: UserId.make(`usr_${code}`),
    email: Email.make(email),
    name: "Ada",
    passwordHash: "$argon2id$ada",
    referralCode: code
  }))

layer(Live, { excludeTestServices: true })("UserRepository", (it) => {
  it.effect("UserRepository stores a new user on the free plan, and finds the user by id, email and code", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const before = yield* DateTime.now
      const request = yield* newUser(`${yield* uniqueName("Ada")}@Example.com`)
      const user = yield* users.insert(request)
      assert.deepInclude(user, {
        id: request.id,
        email: request.email,
        emailVerifiedAt: null,
        name: "Ada",
        plan: "free",
        credits: Credits(0),
        twoFactorEnabled: false,
        notifications: defaultNotificationPreferences,
        referralCode: request.referralCode
      })
      assert.isTrue(DateTime.greaterThanOrEqualTo(user.createdAt, before))
      assert.deepStrictEqual(yield* users.find(user.id), Option.some(user))
      assert.deepStrictEqual(
        yield* users.findByEmail(Email.make(request.email.toUpperCase())),
        Option.some({ user, passwordHash: Option.some("$argon2id$ada") })
      )
      assert.deepStrictEqual(yield* users.findByReferralCode(user.referralCode.toUpperCase()), Option.some(user))
      assert.deepStrictEqual(yield* users.find(UserId.make("usr_none\u0000")), Option.none())
    })
  )

  it.effect("UserRepository gives an email to one of concurrent calls, in any case", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const local = yield* uniqueName("race")
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? local : local.toUpperCase())),
        (name) => Effect.flatMap(newUser(`${name}@example.com`), (user) => Effect.either(users.insert(user))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcomes.filter(Either.isRight).length, 1)
      assert.isTrue(outcomes.every((outcome) => Either.isRight(outcome) || outcome.left instanceof EmailAlreadyTaken))
    })
  )

  it.effect("UserRepository leaves the transaction usable after an email that is taken", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const { run } = yield* Transaction
      const [taken, other] = yield* Effect.all([insertUser(), insertUser()])
      const again = yield* newUser(taken.email)
      const renamed = yield* run(
        Effect.gen(function* () {
          assert.instanceOf(yield* Effect.flip(users.insert(again)), EmailAlreadyTaken)
          assert.instanceOf(yield* Effect.flip(users.update(other.id, { email: taken.email })), EmailAlreadyTaken)
          return yield* users.update(other.id, { name: "still here" })
        })
      )
      assert.strictEqual(Option.getOrThrow(renamed).name, "still here")
      assert.deepStrictEqual(yield* users.find(other.id), renamed)
    })
  )

  it.effect("UserRepository updates the named members only; a new email is unverified, another spelling is not", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const user = yield* insertUser()
      yield* sql`update users set email_verified_at = now() where id = ${user.id}`
      const verified = Option.getOrThrow(yield* users.find(user.id))
      assert.isNotNull(verified.emailVerifiedAt)

      const changed = Option.getOrThrow(
        yield* users.update(user.id, { name: "Bob\u0000", notifications: { product: true } })
      )
      assert.deepInclude(changed, {
        name: "Bob\uFFFD",
        email: user.email,
        notifications: { ...defaultNotificationPreferences, product: true },
        emailVerifiedAt: verified.emailVerifiedAt
      })
      const spelled = Option.getOrThrow(yield* users.update(user.id, { email: Email.make(user.email.toUpperCase()) }))
      assert.deepInclude(spelled, {
        email: Email.make(user.email.toUpperCase()),
        emailVerifiedAt: verified.emailVerifiedAt
      })
      const moved = Option.getOrThrow(yield* users.update(user.id, { email: Email.make(`new-${user.email}`) }))
      assert.deepInclude(moved, { email: Email.make(`new-${user.email}`), emailVerifiedAt: null, name: "Bob\uFFFD" })
      assert.deepStrictEqual(yield* users.update(user.id, {}), Option.some(moved))
      assert.deepStrictEqual(yield* users.update(UserId.make("usr_none"), { name: "x" }), Option.none())
    })
  )

  it.effect("UserRepository sets the password of a user, and returns false without one", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const user = yield* insertUser()
      assert.isTrue(yield* users.setPasswordHash(user.id, "$argon2id$new"))
      assert.deepStrictEqual(yield* users.findPasswordHash(user.id), Option.some("$argon2id$new"))
      assert.isFalse(yield* users.setPasswordHash(UserId.make("usr_none"), "$argon2id$new"))
    })
  )

  it.effect("UserRepository marks an email as confirmed, and locks a user until the transaction ends", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const { run } = yield* Transaction
      const user = yield* insertUser()
      yield* users.markEmailVerified(user.id)
      const verified = Option.getOrThrow(yield* users.find(user.id))
      assert.isNotNull(verified.emailVerifiedAt)
      assert.deepStrictEqual(yield* users.findForUpdate(user.id), Option.some(verified))
      assert.deepStrictEqual(yield* users.findForUpdate(UserId.make("usr_none")), Option.none())
      const rename = run(
        Effect.gen(function* () {
          const { name } = Option.getOrThrow(yield* users.findForUpdate(user.id))
          yield* Effect.sleep("5 millis")
          yield* users.update(user.id, { name: `${name}+` })
        })
      )
      yield* Effect.replicateEffect(rename, 8, { concurrency: "unbounded" })
      assert.strictEqual(Option.getOrThrow(yield* users.find(user.id)).name, `${user.name}++++++++`)
    })
  )

  it.effect(
    "UserRepository reads credits that CreditGrants.grant adds exactly, at any concurrency, with balanced ledger entries",
    () =>
      Effect.gen(function* () {
        const users = yield* UserRepository
        const { grant } = yield* CreditGrants
        const user = yield* insertUser()
        yield* Effect.replicateEffect(grant(user.id, Credits(0.29)), 30, { concurrency: "unbounded" })
        assert.strictEqual(Option.getOrThrow(yield* users.find(user.id)).credits, 8.7)
        const accounts = yield* sql`
        select account, sum(units)::int as units from ledger_entries where user_id = ${user.id} group by 1 order by 1`
        assert.deepStrictEqual(accounts, [
          { account: "credits", units: 870 },
          { account: "grants", units: -870 }
        ])
      })
  )
})
