import { Transaction } from "@berth/domain/persistence/Transaction"
import type { ExternalIdentity } from "@berth/domain/signin/identities/LinkedIdentity"
import { LinkedIdentityRepository } from "@berth/domain/signin/identities/LinkedIdentityRepository"
import * as PostgresLinkedIdentityRepository from "@berth/infra/postgres/signin/PostgresLinkedIdentityRepository"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, FastCheck, Layer, Option, Ref } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.mergeAll(
  PostgresLinkedIdentityRepository.layer,
  PostgresTransaction.layer,
  PostgresUserRepository.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const start = DateTime.unsafeMake("2026-03-01T12:00:00.123Z")

const newIdentity = Effect.map(uniqueName("subject"), (subject): ExternalIdentity => ({
  provider: "oauthA",
  issuer: "https://accounts.example",
  subject
}))

layer(Live, { excludeTestServices: true })("LinkedIdentityRepository", (it) => {
  it.effect("LinkedIdentityRepository finds a link by the exact provider, issuer and subject", () =>
    Effect.gen(function* () {
      const links = yield* LinkedIdentityRepository
      const user = yield* insertUser()
      const identity = yield* newIdentity
      const linked = { ...identity, userId: user.id, linkedAt: start }
      yield* links.insert(linked)
      assert.deepStrictEqual(yield* links.find(identity), Option.some(linked))
      for (const other of [
        { ...identity, provider: "oauthB" as const },
        { ...identity, issuer: "https://accounts.example/" },
        { ...identity, subject: identity.subject.toUpperCase() },
        { ...identity, subject: `${identity.subject} ` }
      ])
        assert.deepStrictEqual(yield* links.find(other), Option.none())
    })
  )

  it.effect("LinkedIdentityRepository stores subjects of any characters", () =>
    Effect.gen(function* () {
      const links = yield* LinkedIdentityRepository
      const user = yield* insertUser()
      const subjects = FastCheck.sample(FastCheck.string({ unit: "binary", minLength: 1, maxLength: 50 }), 30)
      for (const subject of new Set(subjects)) {
        const identity = { ...(yield* newIdentity), subject: `${subject}${yield* uniqueName("s")}` }
        yield* links.lock(identity)
        yield* links.insert({ ...identity, userId: user.id, linkedAt: start })
        assert.strictEqual(Option.getOrNull(yield* links.find(identity))?.userId, user.id)
      }
    })
  )

  it.effect("LinkedIdentityRepository lists identities oldest first, and removes those linked since a time", () =>
    Effect.gen(function* () {
      const links = yield* LinkedIdentityRepository
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      const [first, second, theirs] = [yield* newIdentity, yield* newIdentity, yield* newIdentity]
      yield* links.insert({ ...second, userId: user.id, linkedAt: DateTime.add(start, { hours: 1 }) })
      yield* links.insert({ ...first, userId: user.id, linkedAt: start })
      yield* links.insert({ ...theirs, userId: other.id, linkedAt: start })
      assert.deepStrictEqual(
        (yield* links.listByUser(user.id)).map(({ subject }) => subject),
        [first.subject, second.subject]
      )
      yield* links.removeByUser(user.id, DateTime.add(start, { minutes: 30 }))
      assert.deepStrictEqual(
        (yield* links.listByUser(user.id)).map(({ subject }) => subject),
        [first.subject]
      )
      yield* links.removeByUser(user.id, DateTime.unsafeMake(0))
      assert.deepStrictEqual(yield* links.listByUser(user.id), [])
      assert.strictEqual((yield* links.listByUser(other.id)).length, 1)
    })
  )

  it.effect("LinkedIdentityRepository rejects a second link of an identity", () =>
    Effect.gen(function* () {
      const links = yield* LinkedIdentityRepository
      const [user, other] = [yield* insertUser(), yield* insertUser()]
      const identity = yield* newIdentity
      yield* links.insert({ ...identity, userId: user.id, linkedAt: start })
      const again = yield* Effect.exit(links.insert({ ...identity, userId: other.id, linkedAt: start }))
      assert.strictEqual(again._tag, "Failure")
    })
  )

  it.effect("LinkedIdentityRepository locks an identity exclusively and removes it with its user", () =>
    Effect.gen(function* () {
      const links = yield* LinkedIdentityRepository
      const { run } = yield* Transaction
      const identity = yield* newIdentity
      const inside = yield* Ref.make(0)
      const most = yield* Ref.make(0)
      const one = run(
        Effect.gen(function* () {
          yield* links.lock(identity)
          const now = yield* Ref.updateAndGet(inside, (n) => n + 1)
          yield* Ref.update(most, (n) => Math.max(n, now))
          yield* Effect.yieldNow()
          yield* links.find(identity)
          yield* Ref.update(inside, (n) => n - 1)
        })
      )
      yield* Effect.replicateEffect(one, 6, { concurrency: "unbounded" })
      assert.strictEqual(yield* most, 1)
      const user = yield* insertUser()
      yield* links.insert({ ...identity, userId: user.id, linkedAt: start })
      yield* sql`delete from users where id = ${user.id}`
      assert.deepStrictEqual(yield* links.find(identity), Option.none())
    })
  )
})
