import { Email } from "@berth/domain/shared/Email"
import type { MailedToken, MailedTokenPurpose } from "@berth/domain/accounts/mailed-tokens/MailedToken"
import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import type { User } from "@berth/domain/shared/User"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as PostgresMailedTokenRepository from "@berth/infra/postgres/accounts/PostgresMailedTokenRepository"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { Data, DateTime, Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.mergeAll(
  PostgresMailedTokenRepository.layer,
  PostgresUserRepository.layer,
  PostgresTransaction.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

class RolledBack extends Data.TaggedError("RolledBack")<object> {}

const now = DateTime.unsafeMake("2026-03-01T12:00:00Z")
const later = DateTime.add(now, { hours: 1 })

const purpose: MailedTokenPurpose = "password-reset"

const token = (user: User, tokenHash: string, changes: Partial<MailedToken> = {}): MailedToken => ({
  userId: user.id,
  purpose,
  requestId: "job_5",
  tokenHash,
  email: user.email,
  ...changes
})

layer(Live, { excludeTestServices: true })("MailedTokenRepository", (it) => {
  it.effect("MailedTokenRepository finds a valid token by its hash and purpose, with its recipient", () =>
    Effect.gen(function* () {
      const tokens = yield* MailedTokenRepository
      const [user, hash] = [yield* insertUser(), yield* uniqueName("hash")]
      const email = Email.make("Ada@Example.com")
      yield* tokens.replace(token(user, hash, { email }), later)
      assert.deepStrictEqual(
        yield* tokens.find(purpose, hash, now),
        Option.some({ userId: user.id, email, expiresAt: later })
      )
      assert.deepStrictEqual(yield* tokens.find("email-verification", hash, now), Option.none())
      assert.deepStrictEqual(yield* tokens.find(purpose, `${hash}x`, now), Option.none())
      assert.deepStrictEqual(yield* tokens.find(purpose, hash, later), Option.none())
    })
  )

  it.effect("MailedTokenRepository keeps the last token of each user and purpose", () =>
    Effect.gen(function* () {
      const tokens = yield* MailedTokenRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const hash = yield* uniqueName("hash")
      yield* tokens.replace(token(user, `${hash}1`), later)
      yield* tokens.replace(token(user, `${hash}2`, { purpose: "email-verification" }), later)
      yield* tokens.replace(token(other, `${hash}3`), later)
      yield* tokens.replace(token(user, `${hash}4`, { requestId: "job_1" }), later)
      const isLive = (kind: MailedTokenPurpose, suffix: number) =>
        Effect.map(tokens.find(kind, `${hash}${suffix}`, now), Option.isSome)
      assert.deepStrictEqual(
        yield* Effect.all([
          isLive(purpose, 1),
          isLive("email-verification", 2),
          isLive(purpose, 3),
          isLive(purpose, 4)
        ]),
        [false, true, true, true]
      )
    })
  )

  it.effect("MailedTokenRepository issues a token once per request, and none for a request before a later one", () =>
    Effect.gen(function* () {
      const tokens = yield* MailedTokenRepository
      const [user, hash] = [yield* insertUser(), yield* uniqueName("hash")]
      const put = (requestId: string, suffix: number) =>
        tokens.replaceIfNewer(token(user, `${hash}${suffix}`, { requestId }), later)
      assert.deepStrictEqual(
        [yield* put("job_3", 1), yield* put("job_3", 2), yield* put("job_2", 3), yield* put("job_4", 4)],
        [true, false, false, true]
      )
      assert.isTrue(Option.isSome(yield* tokens.find(purpose, `${hash}4`, now)))
      yield* tokens.consume(purpose, `${hash}4`, now)
      assert.deepStrictEqual([yield* put("job_4", 5), yield* put("job_5", 6)], [false, true])
      yield* tokens.revoke(user.id, purpose)
      assert.deepStrictEqual([yield* put("job_5", 7), yield* put("job_6", 8)], [false, true])
      assert.isTrue(Option.isSome(yield* tokens.find(purpose, `${hash}8`, now)))
    })
  )

  it.effect("MailedTokenRepository issues one token for concurrent calls of one request", () =>
    Effect.gen(function* () {
      const tokens = yield* MailedTokenRepository
      const [user, hash] = [yield* insertUser(), yield* uniqueName("hash")]
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 12 }, (_, n) => `${hash}${n}`),
        (one) => tokens.replaceIfNewer(token(user, one), later),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcomes.filter((isNew) => isNew).length, 1)
    })
  )

  it.effect("MailedTokenRepository consumes a token once under concurrent calls, and not in a failed transaction", () =>
    Effect.gen(function* () {
      const tokens = yield* MailedTokenRepository
      const { run } = yield* Transaction
      const [user, hash] = [yield* insertUser(), yield* uniqueName("hash")]
      yield* tokens.replace(token(user, hash), later)
      const failed = run(Effect.zipRight(tokens.consume(purpose, hash, now), new RolledBack()))
      assert.instanceOf(yield* Effect.flip(failed), RolledBack)
      const outcomes = yield* Effect.replicateEffect(run(tokens.consume(purpose, hash, now)), 20, {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(outcomes.filter(Option.isSome), [Option.some({ userId: user.id, email: user.email })])
      assert.deepStrictEqual(yield* tokens.consume(purpose, hash, now), Option.none())
      assert.deepStrictEqual(yield* tokens.find(purpose, hash, now), Option.none())
    })
  )

  it.effect("MailedTokenRepository consumes no expired, foreign or removed token", () =>
    Effect.gen(function* () {
      const tokens = yield* MailedTokenRepository
      const [user, hash] = [yield* insertUser(), yield* uniqueName("hash")]
      yield* tokens.replace(token(user, hash), later)
      assert.deepStrictEqual(yield* tokens.consume(purpose, hash, later), Option.none())
      assert.deepStrictEqual(yield* tokens.consume("email-verification", hash, now), Option.none())
      yield* tokens.revoke(user.id, "email-verification")
      assert.isTrue(Option.isSome(yield* tokens.find(purpose, hash, now)))
      yield* tokens.revoke(user.id, purpose)
      assert.deepStrictEqual(yield* tokens.find(purpose, hash, now), Option.none())
      assert.deepStrictEqual(yield* tokens.consume(purpose, hash, now), Option.none())
    })
  )

  it.effect("MailedTokenRepository removes tokens with their user, and expired ones", () =>
    Effect.gen(function* () {
      const tokens = yield* MailedTokenRepository
      const [old, fresh, gone] = yield* Effect.all([insertUser(), insertUser(), insertUser()])
      const hash = yield* uniqueName("hash")
      yield* tokens.removeExpired(now)
      yield* tokens.replace(token(old, `${hash}1`), now)
      yield* tokens.replace(token(fresh, `${hash}2`), later)
      yield* tokens.replace(token(gone, `${hash}3`), later)
      yield* sql`delete from users where id = ${gone.id}`
      assert.deepStrictEqual(yield* tokens.find(purpose, `${hash}3`, now), Option.none())
      assert.strictEqual(yield* tokens.removeExpired(now), 1)
      assert.isTrue(Option.isSome(yield* tokens.find(purpose, `${hash}2`, now)))
    })
  )
})
