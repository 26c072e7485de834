import { EmailIsTaken } from "@berth/domain/accounts/AccountErrors"
import { AccountRules } from "@berth/domain/accounts/AccountRules"
import { Accounts } from "@berth/domain/accounts/Accounts"
import { CommonPasswords } from "@berth/domain/accounts/CommonPasswords"
import { Credentials } from "@berth/domain/accounts/Credentials"
import { EmailVerifications } from "@berth/domain/accounts/EmailVerifications"
import { PasswordHasher } from "@berth/domain/accounts/Password"
import { Referrals } from "@berth/domain/accounts/Referrals"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Post } from "@berth/domain/mail/Post"
import { Sessions } from "@berth/domain/sessions/Sessions"
import * as Storage from "@berth/infra/composition/Storage"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Either, Layer, Redacted, Ref } from "effect"
import { randomBytes } from "node:crypto"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { unique } from "../support/Samples.ts"

const password = Redacted.make("correct horse battery")

describe("Registrations with one e-mail, 200 at once in two processes,", () => {
  it.scopedLive("make one account and mail one link, and each process hashes once at most", () =>
    Effect.gen(function* () {
      const hashes = yield* Ref.make(0)
      const databaseUrl = yield* migratedDatabase
      const storage = Storage.layer({
        databaseUrl,
        maxConnections: 10,
        applicationName: "test",
        keys: [{ id: "test", key: Redacted.make(randomBytes(32)) }],
        adminEmails: [],
        verifiedAdminsOnly: false
      })
      const hasher = Layer.mock(PasswordHasher, {
        hash: () =>
          Effect.as(
            Effect.zipLeft(
              Ref.update(hashes, (count) => count + 1),
              Effect.sleep("50 millis")
            ),
            "$h"
          )
      })
      const rules = Layer.mergeAll(
        hasher,
        Layer.succeed(CommonPasswords, { includes: () => false }),
        Layer.mock(RateLimiter, {}),
        Layer.succeed(AccountRules, {
          referralCredits: 1,
          walletEmailDomain: "wallet.example.com",
          socialEmailDomain: "social.example.com",
          appUrl: new URL("https://example.com"),
          verifiedEmailsOnly: false
        })
      )
      const process = Layer.build(
        Accounts.Default.pipe(
          Layer.provide(Layer.merge(EmailVerifications.Default, Credentials.Default)),
          Layer.provide(Layer.mergeAll(Referrals.Default, Post.Default, Sessions.Default)),
          Layer.provide(rules),
          Layer.provideMerge(storage)
        ).pipe(Layer.fresh)
      )
      const processes = yield* Effect.all([process, process])
      const [first] = processes
      const email = yield* Effect.provide(unique("storm"), first)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, n) => processes[n % 2] ?? first),
        (one, n) =>
          Context.get(one, Accounts)
            .register({ email: n % 3 === 0 ? `${email}@example.com` : `${email}@EXAMPLE.com`, password })
            .pipe(Effect.either),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(outcomes.filter(Either.isRight), 1)
      for (const outcome of outcomes) if (Either.isLeft(outcome)) assert.instanceOf(outcome.left, EmailIsTaken)
      assert.isAtMost(yield* hashes, 2)
      const rows = yield* Effect.provide(
        Effect.flatMap(
          SqlClient,
          (sql) => sql`
            select (select count(*)::int from users) as users, (
              select count(*)::int from outbox where name = 'send-mail'
            ) as mails`
        ),
        first
      )
      assert.deepStrictEqual(rows, [{ users: 1, mails: 1 }])
    })
  )
})
