import { Session, SessionId } from "@berth/domain/sessions/Session"
import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import { SocialSessionRepository } from "@berth/domain/signin/social/SocialSessionRepository"
import * as PostgresSessionRepository from "@berth/infra/postgres/sessions/PostgresSessionRepository"
import * as PostgresSocialSessionRepository from "@berth/infra/postgres/signin/PostgresSocialSessionRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.mergeAll(
  PostgresSocialSessionRepository.layer,
  PostgresSessionRepository.layer,
  PostgresUserRepository.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const now = DateTime.unsafeMake("2026-03-01T12:00:00.123Z")
const later = DateTime.add(now, { hours: 24 })

const storedSession = Effect.gen(function* () {
  const user = yield* insertUser()
  const id = SessionId.make(yield* uniqueName("ses"))
  const session = Session.make({
    id,
    userId: user.id,
    createdAt: now,
    authenticatedAt: now,
    lastSeenAt: now,
    expiresAt: later,
    userAgent: null,
    address: null
  })
  yield* (yield* SessionRepository).insert(session, `hash of ${id}`)
  return id
})

layer(Live, { excludeTestServices: true })("SocialSessionRepository", (it) => {
  it.effect("SocialSessionRepository finds the session of a token until the token expires or is exchanged", () =>
    Effect.gen(function* () {
      const tokens = yield* SocialSessionRepository
      const sessionId = yield* storedSession
      const tokenHash = yield* uniqueName("hash")
      yield* tokens.insert({ tokenHash, sessionId, expiresAt: later })
      assert.deepStrictEqual(yield* tokens.find(tokenHash, now), Option.some(sessionId))
      assert.deepStrictEqual(yield* tokens.find(tokenHash, later), Option.none())
      assert.deepStrictEqual(yield* tokens.find("another", now), Option.none())
      assert.deepStrictEqual(yield* tokens.exchange(tokenHash, now), Option.some({ sessionId, isFirst: true }))
      assert.deepStrictEqual(yield* tokens.find(tokenHash, now), Option.none())
    })
  )

  it.effect("SocialSessionRepository exchanges a token once, and returns the session to all callers", () =>
    Effect.gen(function* () {
      const tokens = yield* SocialSessionRepository
      const sessionId = yield* storedSession
      const tokenHash = yield* uniqueName("hash")
      yield* tokens.insert({ tokenHash, sessionId, expiresAt: later })
      const outcomes = yield* Effect.replicateEffect(tokens.exchange(tokenHash, now), 20, { concurrency: "unbounded" })
      assert.isTrue(outcomes.every((outcome) => Option.exists(outcome, (session) => session.sessionId === sessionId)))
      assert.strictEqual(outcomes.filter(Option.exists(({ isFirst }) => isFirst)).length, 1)
      assert.deepStrictEqual(yield* tokens.exchange("another", now), Option.none())
    })
  )

  it.effect("SocialSessionRepository exchanges no expired token", () =>
    Effect.gen(function* () {
      const tokens = yield* SocialSessionRepository
      const sessionId = yield* storedSession
      const tokenHash = yield* uniqueName("hash")
      yield* tokens.insert({ tokenHash, sessionId, expiresAt: now })
      assert.deepStrictEqual(yield* tokens.exchange(tokenHash, now), Option.none())
    })
  )

  it.effect("SocialSessionRepository removes tokens with their session", () =>
    Effect.gen(function* () {
      const tokens = yield* SocialSessionRepository
      const [sessionId, other] = [yield* storedSession, yield* storedSession]
      const [tokenHash, kept] = [yield* uniqueName("hash"), yield* uniqueName("hash")]
      yield* tokens.insert({ tokenHash, sessionId, expiresAt: later })
      yield* tokens.insert({ tokenHash: kept, sessionId: other, expiresAt: later })
      yield* (yield* SessionRepository).remove(sessionId)
      assert.deepStrictEqual(yield* tokens.find(tokenHash, now), Option.none())
      assert.deepStrictEqual(yield* tokens.exchange(tokenHash, now), Option.none())
      assert.deepStrictEqual(yield* tokens.find(kept, now), Option.some(other))
    })
  )
})
