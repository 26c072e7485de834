import { maximumSessionsPerUser, Session, SessionId } from "@berth/domain/sessions/Session"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import * as PostgresSessionRepository from "@berth/infra/postgres/sessions/PostgresSessionRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const Live = Layer.merge(PostgresSessionRepository.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const start = DateTime.unsafeMake("2026-03-01T12:00:00.123Z")
const after = (hours: number) => DateTime.add(start, { minutes: hours * 60 })

const storedSession = (userId: UserId, expiresAt = after(1), createdAt = start) =>
  Effect.gen(function* () {
    const sessions = yield* SessionRepository
    const name = yield* uniqueName("ses")
    const session = Session.make({
      id: SessionId.make(name),
      userId,
      createdAt,
      authenticatedAt: createdAt,
      lastSeenAt: createdAt,
      expiresAt,
      userAgent: "Browser/1.0",
      address: "203.0.113.0/24"
    })
    yield* sessions.insert(session, `hash of ${name}`)
    return { session, hash: `hash of ${name}` }
  })

layer(Live, { excludeTestServices: true })("SessionRepository", (it) => {
  it.effect("SessionRepository finds an unexpired session with its user by the token hash, and renews it", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const user = yield* insertUser()
      const { hash, session } = yield* storedSession(user.id)
      assert.deepStrictEqual(yield* sessions.findByTokenHash(hash, start), Option.some({ session, user }))
      assert.deepStrictEqual(yield* sessions.findByTokenHash(hash, after(1)), Option.none())
      assert.deepStrictEqual(yield* sessions.findByTokenHash("another", start), Option.none())
      yield* sessions.renew(session.id, { lastSeenAt: after(0.5), expiresAt: after(2) })
      assert.deepStrictEqual(
        yield* sessions.findByTokenHash(hash, after(1)),
        Option.some({ session: { ...session, lastSeenAt: after(0.5), expiresAt: after(2) }, user })
      )
    })
  )

  it.effect("SessionRepository finds no session of a suspended user and inserts none", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const users = yield* UserRepository
      const user = yield* insertUser()
      const { hash, session } = yield* storedSession(user.id)
      yield* users.setSuspendedAt(user.id, start)
      assert.deepStrictEqual(yield* sessions.findByTokenHash(hash, start), Option.none())
      assert.deepStrictEqual(yield* sessions.find(session.id, start), Option.none())
      assert.isFalse(yield* sessions.insert({ ...session, id: SessionId.make("ses_other") }, "other hash"))
      assert.lengthOf(yield* sessions.listByUser(user.id, start), 1)
      yield* users.setSuspendedAt(user.id, null)
      assert.deepStrictEqual(yield* sessions.find(session.id, start), Option.some({ session, user }))
      yield* sessions.removeByUser(user.id)
    })
  )

  it.effect("SessionRepository finds a session with its user by id until it expires or is removed", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const user = yield* insertUser()
      const { session } = yield* storedSession(user.id)
      const another = yield* storedSession(user.id)
      assert.deepStrictEqual(yield* sessions.find(session.id, start), Option.some({ session, user }))
      assert.deepStrictEqual(yield* sessions.find(session.id, after(1)), Option.none())
      for (const other of ["ses_none", "ses_\u0000", ""])
        assert.deepStrictEqual(yield* sessions.find(SessionId.make(other), start), Option.none())
      yield* sessions.remove(session.id)
      assert.deepStrictEqual(yield* sessions.find(session.id, start), Option.none())
      assert.deepStrictEqual(
        yield* sessions.find(another.session.id, start),
        Option.some({ session: another.session, user })
      )
      yield* sessions.remove(another.session.id)
    })
  )

  it.effect("SessionRepository keeps the newest hundred sessions of a user and those of other users", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const foreign = yield* storedSession(other.id)
      const made = yield* Effect.forEach(Array.from({ length: maximumSessionsPerUser + 2 }), (_, n) =>
        storedSession(user.id, after(1), DateTime.add(start, { minutes: n }))
      )
      const left = yield* Effect.filter([...made, foreign], ({ hash }) =>
        Effect.map(sessions.findByTokenHash(hash, start), Option.isSome)
      )
      assert.deepStrictEqual(left, [...made.slice(2), foreign])
      yield* Effect.forEach([user, other], ({ id }) => sessions.removeByUser(id))
    })
  )

  it.effect("SessionRepository lists a user's unexpired sessions, newest first", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const second = yield* storedSession(user.id, after(4), after(1))
      const third = yield* storedSession(user.id, after(4), after(2))
      const first = yield* storedSession(user.id, after(4), start)
      yield* storedSession(user.id, after(3), after(2))
      yield* storedSession(other.id, after(4))
      const listed = yield* sessions.listByUser(user.id, after(3))
      assert.deepStrictEqual(listed, [third.session, second.session, first.session])
      yield* Effect.forEach([user, other], ({ id }) => sessions.removeByUser(id))
    })
  )

  it.effect("SessionRepository stores null for a client without user agent and address", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const user = yield* insertUser()
      const { session } = yield* storedSession(user.id)
      const silent = { ...session, id: SessionId.make(`${session.id}-silent`), userAgent: null, address: null }
      yield* sessions.insert(silent, `hash of ${silent.id}`)
      assert.deepStrictEqual(yield* sessions.find(silent.id, start), Option.some({ session: silent, user }))
      const odd = { ...session, id: SessionId.make(`${session.id}-odd`), userAgent: "a\u0000b\ud800" }
      yield* sessions.insert(odd, `hash of ${odd.id}`)
      const stored = Option.getOrThrow(yield* sessions.find(odd.id, start)).session
      assert.strictEqual(stored.userAgent, "a\uFFFDb\uFFFD")
      yield* sessions.removeByUser(user.id)
    })
  )

  it.effect("SessionRepository removes a session only for its user", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const { session } = yield* storedSession(user.id)
      assert.isFalse(yield* sessions.removeOwned(other.id, session.id))
      assert.isFalse(yield* sessions.removeOwned(user.id, SessionId.make("ses_\u0000")))
      assert.isTrue(Option.isSome(yield* sessions.find(session.id, start)))
      assert.isTrue(yield* sessions.removeOwned(user.id, session.id))
      assert.isFalse(yield* sessions.removeOwned(user.id, session.id))
      assert.deepStrictEqual(yield* sessions.find(session.id, start), Option.none())
    })
  )

  it.effect("SessionRepository returns the active ids among many", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const user = yield* insertUser()
      const [open, expired, removed] = yield* Effect.all([
        storedSession(user.id, after(2)),
        storedSession(user.id, after(1)),
        storedSession(user.id, after(2))
      ])
      yield* sessions.remove(removed.session.id)
      const requested = [open, expired, removed].map(({ session }) => session.id)
      assert.deepStrictEqual(
        yield* sessions.findActiveIds([...requested, SessionId.make("ses_none")], after(1)),
        new Set([open.session.id])
      )
      assert.deepStrictEqual(yield* sessions.findActiveIds([], start), new Set())
      yield* sessions.remove(expired.session.id)
    })
  )

  it.effect("SessionRepository removes by id, by token, by user with an exception, and by expiry", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const made = yield* Effect.all(Array.from({ length: 5 }, () => storedSession(user.id)))
      const [a, b, c] = made
      if (a === undefined || b === undefined || c === undefined) return assert.fail("five were made")
      const foreign = yield* storedSession(other.id)
      const left = Effect.filter([...made, foreign], ({ hash }) =>
        Effect.map(sessions.findByTokenHash(hash, start), Option.isSome)
      )

      yield* sessions.remove(a.session.id)
      yield* sessions.removeByTokenHash(b.hash)
      assert.deepStrictEqual(yield* left, [...made.slice(2), foreign])
      assert.strictEqual(yield* sessions.removeByUser(user.id, c.session.id), 2)
      assert.deepStrictEqual(yield* left, [c, foreign])
      assert.strictEqual(yield* sessions.removeByUser(user.id), 1)
      assert.strictEqual(yield* sessions.removeByUser(user.id), 0)
      assert.deepStrictEqual(yield* left, [foreign])

      const lasting = yield* storedSession(other.id, after(3))
      assert.strictEqual(yield* sessions.removeExpired(after(1)), 1)
      assert.isTrue(Option.isSome(yield* sessions.findByTokenHash(lasting.hash, after(1))))
    })
  )
})
