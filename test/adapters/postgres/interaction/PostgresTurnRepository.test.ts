import { noUsdMicros, UsdMicros } from "@berth/domain/shared/Money"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { unusedTurn } from "@berth/domain/interaction/turns/TurnPricing"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresConversationRepository from "@berth/infra/postgres/interaction/PostgresConversationRepository"
import * as PostgresTurnRepository from "@berth/infra/postgres/interaction/PostgresTurnRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Array, DateTime, Deferred, Effect, FastCheck, Fiber, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertAgent, insertChatSession, insertUser } from "../../../support/Samples.ts"
import { bySlowClock } from "../../../support/SlowClock.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.mergeAll(
  PostgresTurnRepository.layer,
  PostgresConversationRepository.layer,
  PostgresAgentRepository.layer,
  PostgresUserRepository.layer,
  // Concurrent requests share statements.
  Layer.succeed(SpanExportEnabled, false)
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const minute = (n: number) => DateTime.unsafeMake(Date.UTC(2026, 2, 1, 12, n))
const inAMinute = Effect.map(DateTime.now, (now) => DateTime.add(now, { minutes: 1 }))
const free = { reservation: Option.none(), ownKeysOnly: false }

/** A turn that has not begun, of a new owner and agent. */
const newTurn = Effect.gen(function* () {
  const { id: userId } = yield* insertUser()
  const agent = yield* insertAgent(userId)
  return { userId, agentId: agent.id, turnId: yield* (yield* IdGenerator).next("tsk") }
})

const beginTurn = Effect.gen(function* () {
  const turn = yield* newTurn
  const { begin } = yield* TurnRepository
  yield* begin(turn, free, yield* inAMinute)
  return turn
})

layer(Live, { excludeTestServices: true })("TurnRepository", (it) => {
  it.effect("TurnRepository.find returns a turn in progress to its owner and agent only", () =>
    Effect.gen(function* () {
      const { begin, end, find } = yield* TurnRepository
      const turn = yield* newTurn
      const other = yield* beginTurn
      const reservation = Option.some(ReservationId.make("rsv_1"))
      assert.deepStrictEqual(yield* find(turn), Option.none())
      yield* begin(turn, { reservation, ownKeysOnly: true }, yield* inAMinute)
      const record = { ...unusedTurn, reservation, ownKeysOnly: true, callBegun: false }
      assert.deepStrictEqual(yield* find(turn), Option.some(record))
      for (const lie of [
        { userId: other.userId },
        { agentId: other.agentId },
        { turnId: other.turnId },
        { turnId: "\u0000" },
        { turnId: "' or true; --" }
      ])
        assert.deepStrictEqual(yield* find({ ...turn, ...lie }), Option.none(), JSON.stringify(lie))
      assert.deepStrictEqual(yield* end(turn.turnId), Option.some(record))
      assert.deepStrictEqual(yield* find(turn), Option.none())
      assert.deepStrictEqual(yield* end(turn.turnId), Option.none())
    })
  )

  it.effect("TurnRepository.begin stores no turn of an agent of another owner", () =>
    Effect.gen(function* () {
      const { begin, end } = yield* TurnRepository
      const [turn, other] = [yield* newTurn, yield* newTurn]
      yield* begin({ ...turn, agentId: other.agentId }, free, yield* inAMinute)
      assert.deepStrictEqual(yield* end(turn.turnId), Option.none())
    })
  )

  it.effect("appendUserMessage begins the turn of its message", () =>
    Effect.gen(function* () {
      const { appendUserMessage } = yield* ConversationRepository
      const { find } = yield* TurnRepository
      const { next } = yield* IdGenerator
      const { agentId, userId } = yield* newTurn
      const { id: sessionId } = yield* insertChatSession({ id: agentId, ownerId: userId })
      const reservation = Option.some(ReservationId.make("rsv_2"))
      const { id } = yield* appendUserMessage(
        { id: MessageId.make(yield* next("msg")), sessionId, content: "hello", topic: null, platform: "web" },
        { reservation, ownKeysOnly: false, leaseUntil: yield* inAMinute }
      )
      assert.deepStrictEqual(
        yield* find({ userId, agentId, turnId: id }),
        Option.some({ ...unusedTurn, reservation, ownKeysOnly: false, callBegun: false })
      )
    })
  )

  it.effect("endCall replaces the estimate by the cost once, and a failed call keeps only its start", () =>
    Effect.gen(function* () {
      const { beginCall, end, endCall, find } = yield* TurnRepository
      const turn = yield* beginTurn
      const call = { own: false, promptMicros: UsdMicros(5_000), answerMicros: UsdMicros(60_000) }
      const own = { own: true, promptMicros: noUsdMicros, answerMicros: noUsdMicros }
      const usage = Effect.map(find(turn), (found) => {
        const { ownKeysOnly: _, reservation: __, ...usage } = Option.getOrThrow(found)
        return usage
      })
      assert.isTrue(yield* beginCall(turn, call))
      const open = {
        ...unusedTurn,
        callBegun: true,
        platformCalls: 1,
        openCalls: 1,
        costMicros: UsdMicros(5_000),
        heldMicros: UsdMicros(60_000)
      }
      assert.deepStrictEqual(yield* usage, open)
      assert.isTrue(yield* beginCall(turn, call))
      yield* endCall(turn, call, "failed")
      assert.deepStrictEqual(yield* usage, open)
      const ended = { ...unusedTurn, callBegun: true, platformCalls: 1, costMicros: UsdMicros(7_000) }
      for (const _ of ["first", "repeated"]) {
        yield* endCall(turn, call, { costMicros: UsdMicros(7_000) })
        assert.deepStrictEqual(yield* usage, ended)
      }
      assert.isTrue(yield* beginCall(turn, own))
      yield* endCall(turn, own, { costMicros: noUsdMicros })
      assert.isTrue(yield* beginCall(turn, own))
      yield* endCall(turn, own, "failed")
      assert.deepStrictEqual(yield* usage, {
        ...unusedTurn,
        callBegun: true,
        platformCalls: 1,
        ownCalls: 1,
        costMicros: UsdMicros(7_000)
      })
      yield* end(turn.turnId)
      assert.isFalse(yield* beginCall(turn, call))
      yield* endCall(turn, call, { costMicros: UsdMicros(1) })
    })
  )

  it.effect("beginCall within a cost admits only calls that it covers, of turns with an open reservation", () =>
    Effect.gen(function* () {
      const { begin, beginCall } = yield* TurnRepository
      const sql = yield* SqlClient
      const reserved = (state: string, ownKeysOnly: boolean) =>
        Effect.gen(function* () {
          const turn = yield* newTurn
          yield* sql`insert into reservations ${sql.insert({
            id: turn.turnId,
            userId: turn.userId,
            cause: turn.turnId,
            day: "2026-03-01",
            state,
            dailyUnits: 1,
            creditUnits: 0,
            holder: "hld_1",
            createdAt: new Date(0)
          })}`
          const reservation = Option.some(ReservationId.make(turn.turnId))
          yield* begin(turn, { reservation, ownKeysOnly }, yield* inAMinute)
          return turn
        })
      const call = { own: false, promptMicros: UsdMicros(1_000), answerMicros: UsdMicros(3_000) }
      const within = UsdMicros(8_000)
      const open = yield* reserved("reserved", false)
      const begun = yield* Effect.replicateEffect(beginCall(open, call, within), 3)
      assert.deepStrictEqual(begun, [true, true, false])
      assert.isFalse(yield* beginCall(yield* reserved("reserved", true), call, within))
      assert.isFalse(yield* beginCall(yield* reserved("released", false), call, within))
      assert.isFalse(yield* beginCall(yield* beginTurn, call, within))
    })
  )

  it.effect("TurnRepository adds up concurrent calls of a turn exactly", () =>
    Effect.gen(function* () {
      const { beginCall, end, endCall } = yield* TurnRepository
      const costs = FastCheck.sample(FastCheck.nat({ max: 100_000 }), { numRuns: 20, seed: 7 })
      const turn = yield* beginTurn
      yield* Effect.forEach(
        costs,
        (costMicros, at) => {
          const call = { own: at % 3 === 0, promptMicros: UsdMicros(at), answerMicros: UsdMicros(2 * at) }
          return Effect.zipRight(beginCall(turn, call), endCall(turn, call, { costMicros: UsdMicros(costMicros) }))
        },
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        yield* end(turn.turnId),
        Option.some({
          ...unusedTurn,
          ...free,
          callBegun: true,
          ownCalls: 7,
          platformCalls: 13,
          costMicros: UsdMicros(costs.reduce((sum, micros) => sum + micros, 0))
        })
      )
    })
  )

  it.effect("listAbandoned returns turns with an expired lease, and each of them ends once", () =>
    Effect.gen(function* () {
      const { begin, end, listAbandoned, renewLeases } = yield* TurnRepository
      const [abandoned, renewed] = [yield* newTurn, yield* newTurn]
      yield* begin(abandoned, free, minute(1))
      yield* begin(renewed, free, minute(1))
      yield* renewLeases([renewed.turnId], minute(3))
      const listed = yield* listAbandoned(minute(2))
      assert.include(listed, abandoned.turnId)
      assert.notInclude(listed, renewed.turnId)
      assert.deepStrictEqual(yield* end(renewed.turnId, minute(2)), Option.none())
      const ended = yield* Effect.replicateEffect(end(abandoned.turnId, minute(2)), 5, { concurrency: "unbounded" })
      assert.lengthOf(Array.getSomes(ended), 1)
    })
  )

  it.effect("renewLeases waits for no turn that another transaction holds, and renews the others", () =>
    Effect.gen(function* () {
      const { begin, listAbandoned, lock, renewLeases } = yield* TurnRepository
      const sql = yield* SqlClient
      const [held, other] = [yield* newTurn, yield* newTurn]
      yield* begin(held, free, minute(1))
      yield* begin(other, free, minute(1))
      const [isHeld, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holding = yield* lock(held).pipe(
        Effect.zipRight(Deferred.succeed(isHeld, undefined)),
        Effect.zipRight(Deferred.await(mayEnd)),
        sql.withTransaction,
        Effect.fork
      )
      yield* Deferred.await(isHeld)
      yield* renewLeases([held.turnId, other.turnId], minute(3))
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(holding)
      const listed = yield* listAbandoned(minute(2))
      assert.include(listed, held.turnId)
      assert.notInclude(listed, other.turnId)
    })
  )

  it.effect("listAbandoned takes no turn from a process whose clock is wrong", () =>
    Effect.gen(function* () {
      const { begin, listAbandoned, renewLeases } = yield* TurnRepository
      const [started, renewed] = [yield* newTurn, yield* newTurn]
      yield* bySlowClock(Effect.flatMap(inAMinute, (until) => begin(started, free, until)))
      yield* begin(renewed, free, yield* inAMinute)
      yield* bySlowClock(Effect.flatMap(inAMinute, (until) => renewLeases([renewed.turnId], until)))
      const abandoned = yield* listAbandoned(yield* DateTime.now)
      assert.notInclude(abandoned, started.turnId)
      assert.notInclude(abandoned, renewed.turnId)
      assert.includeMembers(
        [...(yield* bySlowClock(Effect.flatMap(inAMinute, (at) => listAbandoned(DateTime.add(at, { minutes: 1 })))))],
        [started.turnId, renewed.turnId]
      )
    })
  )

  it.effect("TurnRepository ends the turn of a deleted agent, once", () =>
    Effect.gen(function* () {
      const { end } = yield* TurnRepository
      const turn = yield* beginTurn
      yield* sql`delete from agents where id = ${turn.agentId}`
      assert.isTrue(Option.isSome(yield* end(turn.turnId)))
      assert.deepStrictEqual(yield* end(turn.turnId), Option.none())
    })
  )
})
