import { EmailAlreadyTaken } from "@berth/domain/accounts/AccountErrors"
import { Registration } from "@berth/domain/accounts/registration/Registration"
import { MailedTokens } from "@berth/domain/accounts/mailed-tokens/MailedTokens"
import { CommonPasswords } from "@berth/domain/accounts/password/CommonPasswords"
import { EmailVerifications } from "@berth/domain/accounts/email-verification/EmailVerifications"
import { PasswordHasher } from "@berth/domain/accounts/password/PasswordHasher"
import { Referrals } from "@berth/domain/accounts/referrals/Referrals"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { MailOutbox } from "@berth/domain/mail/MailOutbox"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Either, Layer, Redacted, Ref } from "effect"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { uniqueName } from "../support/Samples.ts"
import { Credits } from "@berth/domain/shared/Money"
import { sql } from "../support/Sql.ts"
import { testStorage } from "../support/TestStorage.ts"

const password = Redacted.make("correct horse battery")

describe("Registrations with one e-mail, 200 at once in two processes,", () => {
  it.scopedLive("Concurrent registrations in two processes create one account, mail one link, and hash once each", () =>
    Effect.gen(function* () {
      const hashes = yield* Ref.make(0)
      const databaseUrl = yield* migratedDatabase
      const storage = testStorage(databaseUrl)
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
        AccountsWiring.layer({
          referralCredits: Credits(1),
          appUrl: new URL("https://example.com"),
          verifiedEmailsOnly: false
        })
      )
      const process = Layer.build(
        Registration.Default.pipe(
          Layer.provide(EmailVerifications.Default),
          Layer.provide(Layer.mergeAll(Referrals.Default, MailOutbox.Default, MailedTokens.Default)),
          Layer.provide(rules),
          Layer.provideMerge(storage)
        ).pipe(Layer.fresh)
      )
      const processes = yield* Effect.all([process, process])
      const [first] = processes
      const email = yield* Effect.provide(uniqueName("storm"), first)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, n) => processes[n % 2] ?? first),
        (one, n) =>
          Context.get(one, Registration)
            .register({ email: n % 3 === 0 ? `${email}@example.com` : `${email}@EXAMPLE.com`, password })
            .pipe(Effect.either),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(outcomes.filter(Either.isRight), 1)
      for (const outcome of outcomes) if (Either.isLeft(outcome)) assert.instanceOf(outcome.left, EmailAlreadyTaken)
      assert.isAtMost(yield* hashes, 2)
      const rows = yield* Effect.provide(
        sql`
            select (select count(*)::int from users) as users, (
              select count(*)::int from outbox where name = 'send-mail'
            ) as mails`,
        first
      )
      assert.deepStrictEqual(rows, [{ users: 1, mails: 1 }])
    })
  )
})
