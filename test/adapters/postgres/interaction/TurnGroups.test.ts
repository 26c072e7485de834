import { Budgets } from "@berth/domain/billing/budgets/Budget"
import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { ChatSessionId, type Message, MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { Units, UsdMicros } from "@berth/domain/shared/Money"
import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import { DirectQueries, makeDirectly } from "@berth/infra/postgres/DirectQueries"
import { makeAppendGroup, type PaidMessage } from "@berth/infra/postgres/interaction/AppendGroup"
import { type CallChange, makeCallGroup } from "@berth/infra/postgres/interaction/CallGroup"
import { type CompletedTurn, makeCompleteGroup } from "@berth/infra/postgres/interaction/CompleteGroup"
import * as PostgresConversationRepository from "@berth/infra/postgres/interaction/PostgresConversationRepository"
import * as PostgresTurnRepository from "@berth/infra/postgres/interaction/PostgresTurnRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Deferred, Effect, Exit, Fiber, Layer, Option } from "effect"
import { BillingServices, readBalance } from "../../../support/billing/BillingServices.ts"
import { insertAgent, insertChatSession, insertUser } from "../../../support/Samples.ts"

const Live = Layer.mergeAll(
  PostgresConversationRepository.layer,
  PostgresTurnRepository.layer,
  Layer.succeed(SpanExportEnabled, false)
).pipe(Layer.provideMerge(BillingServices))

const dailyUnits = Units(10)
const groups = { waits: false }
/** Text with a meaning in arrays of PostgreSQL. */
const oddText = `NULL {"\\",}`

/** An owner with a row of the day, an agent and conversations. */
const insertOwner = Effect.gen(function* () {
  const user = yield* insertUser()
  const agent = yield* insertAgent(user.id)
  const { release, reserve } = yield* UnitLedger
  yield* release(Option.getOrThrow(yield* reserve(user, Units(1), "first")))
  const open = Effect.map(insertChatSession(agent), ({ id }) => id)
  const message = (sessionId: ChatSessionId, units = 1, content = "hello") =>
    Effect.gen(function* () {
      const { next } = yield* IdGenerator
      const id = MessageId.make(yield* next("msg"))
      const at = yield* DateTime.now
      return {
        id,
        message: { id, sessionId, content, topic: null, platform: "web" },
        turn: {
          reservation: Option.some(ReservationId.make(yield* next("rsv"))),
          ownKeysOnly: false,
          leaseUntil: DateTime.add(at, { minutes: 1 })
        },
        at,
        payment: { user, agentId: agent.id, units: Units(units), dailyUnitsOf: () => dailyUnits },
        limits: { session: 1, user: 4 }
      } satisfies PaidMessage
    })
  return { user, agent, open, message }
})

const append = (requests: ReadonlyArray<PaidMessage>) =>
  Effect.gen(function* () {
    const appendGroup = makeAppendGroup(yield* SqlClient, yield* makeDirectly, "holder", groups)
    return new Map(yield* appendGroup(requests))
  })

/** A message of a new owner, whose turn is in progress. */
const beginTurn = Effect.gen(function* () {
  const { agent, message, open, user } = yield* insertOwner
  const request = yield* message(yield* open)
  const appended = (yield* append([request])).get(request.id)
  if (appended === undefined) return yield* Effect.dieMessage("The message is not appended")
  return { user, message: appended, turn: { userId: user.id, agentId: agent.id, turnId: request.id } }
})

let entries = 0

const completion = (message: Message, content = "fine") =>
  Effect.map(DateTime.now, (at): CompletedTurn => {
    entries += 1
    return {
      id: `${message.id} reply`,
      message,
      reply: { id: MessageId.make(`${message.id} reply`), content, deltaCount: 3 },
      at,
      price: { units: Units(1), costLimit: UsdMicros(1_000) },
      entries: {
        allowance: `${entries} allowance`,
        usage: `${entries} usage`,
        credits: `${entries} credits`,
        creditUsage: `${entries} credit usage`
      }
    }
  })

const complete = (requests: ReadonlyArray<CompletedTurn>) =>
  Effect.gen(function* () {
    const completeGroup = makeCompleteGroup(yield* SqlClient, yield* makeDirectly, groups)
    return new Map(yield* completeGroup(requests))
  })

layer(Live, { excludeTestServices: true })("Groups of turns", (it) => {
  it.effect("A group appends the messages that day and limits of each user admit, one to a conversation", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const [user, poor, busy, budgeted, stranger] = yield* Effect.all([
        insertOwner,
        insertOwner,
        insertOwner,
        insertOwner,
        insertOwner
      ])
      yield* (yield* Budgets).replace(budgeted.user.id, [{ agentId: null, period: "day", units: Units(5) }])
      const first = yield* user.open
      const admitted = yield* Effect.all([user.message(first, 1, oddText), user.message(yield* user.open, 9)])
      const refused = yield* Effect.all([
        user.message(first),
        poor.message(yield* poor.open, 6),
        poor.message(yield* poor.open, 5),
        ...(yield* Effect.replicateEffect(busy.open, 5)).map((session) => busy.message(session)),
        budgeted.message(yield* budgeted.open),
        stranger.message(yield* busy.open)
      ])
      const appended = yield* append([...admitted, ...refused])
      assert.deepStrictEqual(new Set(appended.keys()), new Set<string>(admitted.map(({ id }) => id)))
      for (const { id, message } of admitted)
        assert.deepInclude(appended.get(id), {
          id,
          sessionId: message.sessionId,
          userId: user.user.id,
          agentId: user.agent.id,
          seq: 1,
          content: message.content,
          state: "pending",
          attachments: null
        })
      const again = yield* append(yield* Effect.all([user.message(first), poor.message(yield* poor.open, 10)]))
      assert.lengthOf([...again], 1)
      assert.strictEqual((yield* readBalance(user.user)).used, 10)
      assert.strictEqual((yield* readBalance(poor.user)).used, 10)
      for (const other of [busy, budgeted, stranger]) assert.strictEqual((yield* readBalance(other.user)).used, 0)
      assert.deepStrictEqual(
        yield* sql`
          select count(*)::int as turns, count(reservations.id)::int as paid from turns
          left join reservations on reservations.id = reservation_id and cause = turns.id and state = 'reserved'
          where turns.user_id = ${user.user.id}`,
        [{ turns: 2, paid: 2 }]
      )
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  it.effect("A group ends each turn of its price once, with units of the day or credits, and no other", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { beginCall } = yield* TurnRepository
      const turns = yield* Effect.replicateEffect(beginTurn, 6)
      const [daily, credited, expensive, failed, task, removed] = turns
      if (
        daily === undefined ||
        credited === undefined ||
        expensive === undefined ||
        failed === undefined ||
        task === undefined ||
        removed === undefined
      )
        return assert.fail("six are begun")
      yield* sql`update unit_days set used = 0 where user_id = ${credited.user.id}`
      yield* sql`
        insert into ledger_entries (id, transaction_id, user_id, account, units, cause, created_at)
        values ('added', 'added', ${credited.user.id}, 'credits', 1, 'credits-added', now()),
          ('granted', 'added', ${credited.user.id}, 'grants', -1, 'credits-added', now())`
      yield* sql`update reservations set daily_units = 0, credit_units = 1 where cause = ${credited.message.id}`
      yield* beginCall(expensive.turn, { own: false, promptMicros: UsdMicros(1), answerMicros: UsdMicros(1_000) })
      yield* sql`update messages set state = 'failed' where id = ${failed.message.id}`
      yield* sql`update messages set platform = 'a2a' where id = ${task.message.id}`
      yield* sql`delete from chat_sessions where id = ${removed.message.sessionId}`
      const requests = yield* Effect.forEach(turns, ({ message }) => completion(message, oddText))
      const replies = yield* complete(requests)
      assert.deepStrictEqual(
        new Set(replies.keys()),
        new Set<string>([`${daily.message.id} reply`, `${credited.message.id} reply`])
      )
      for (const { charged, reply } of replies.values()) {
        assert.strictEqual(charged, 1)
        assert.deepInclude(reply, { content: oddText, seq: 2, units: Units(1), state: "answered" })
      }
      assert.strictEqual((yield* complete(requests)).size, 0)
      assert.deepStrictEqual(
        yield* sql`
          select account, units from ledger_entries
          where user_id = ${credited.user.id} and cause = ${credited.message.id} order by account`,
        [
          { account: "credits", units: "-1" },
          { account: "usage", units: "1" }
        ]
      )
      assert.deepStrictEqual(
        new Set(
          (yield* sql<{ id: string }>`select id from turns where ${sql.in(
            "user_id",
            turns.map(({ user }) => user.id)
          )}`).map(({ id }) => id)
        ),
        new Set<string>([expensive, failed, task, removed].map(({ message }) => message.id))
      )
      assert.lengthOf(
        [
          ...(yield* makeCompleteGroup(sql, yield* makeDirectly, { waits: true })(
            yield* Effect.all([completion(task.message)])
          ))
        ],
        1
      )
    })
  )

  it.effect("A group counts one change of each turn in progress, within its cost", () =>
    Effect.gen(function* () {
      const { find } = yield* TurnRepository
      const [one, other] = [yield* beginTurn, yield* beginTurn]
      const callGroup = makeCallGroup(yield* SqlClient, yield* makeDirectly, groups)
      const change: Omit<CallChange, "id" | "turn"> = {
        begins: true,
        ownCalls: 0,
        platformCalls: 1,
        costMicros: 10,
        heldMicros: 90,
        within: UsdMicros(100)
      }
      const changes: ReadonlyArray<CallChange> = [
        { ...change, id: "first", turn: one.turn },
        { ...change, id: "second", turn: one.turn },
        { ...change, id: "above", turn: other.turn, heldMicros: 91 },
        { ...change, id: "foreign", turn: { ...one.turn, turnId: "msg_none" } }
      ]
      assert.deepStrictEqual(yield* callGroup(changes), [["first", true]])
      const end = { ...change, begins: false, platformCalls: 0, costMicros: 5, heldMicros: -90, within: null }
      const next = { ...change, ownCalls: 1, platformCalls: 0, within: null }
      assert.lengthOf(
        yield* callGroup([
          { ...end, id: "end", turn: one.turn },
          { ...next, id: "own", turn: other.turn }
        ]),
        2
      )
      const record = { callBegun: true, costMicros: UsdMicros(15), heldMicros: UsdMicros(0), openCalls: 0 }
      assert.deepInclude(Option.getOrThrow(yield* find(one.turn)), { ...record, ownCalls: 0, platformCalls: 1 })
      assert.deepInclude(Option.getOrThrow(yield* find(other.turn)), { openCalls: 1, ownCalls: 1, platformCalls: 0 })
    })
  )

  it.effect("A change of a turn is counted once when the response of its statement is lost", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { turn } = yield* beginTurn
      const loseResponse = (text: string, values: ReadonlyArray<unknown>) =>
        Effect.zipRight(
          sql.unsafe(text, values),
          new SqlError({
            cause: new Error("Connection terminated unexpectedly"),
            message: "Failed to execute statement"
          })
        )
      const losing = yield* Layer.build(Layer.fresh(PostgresTurnRepository.layer)).pipe(
        Effect.provideService(DirectQueries, Option.some(loseResponse))
      )
      const call = { own: false, promptMicros: UsdMicros(1), answerMicros: UsdMicros(2) }
      const { beginCall } = Context.get(losing, TurnRepository)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(beginCall(turn, call))))
      const { find } = yield* TurnRepository
      assert.deepInclude(Option.getOrThrow(yield* find(turn)), { openCalls: 1, platformCalls: 1 })
    }).pipe(Effect.scoped)
  )

  it.effect("Turns of other users begin, call and end while the rows of one user are locked", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const conversations = yield* ConversationRepository
      const { beginCall, endCall } = yield* TurnRepository
      const [locked, ...others] = yield* Effect.replicateEffect(insertOwner, 4)
      if (locked === undefined) return assert.fail("four are inserted")
      const call = { own: false, promptMicros: UsdMicros(1), answerMicros: UsdMicros(2) }
      const begin = ({ agent, message, user }: typeof locked, session: ChatSessionId) =>
        Effect.gen(function* () {
          const { limits, message: sent, payment, turn } = yield* message(session)
          const terms = [sent, turn, { ...payment, dailyUnitsOf: () => Units(100) }, limits] as const
          const withOthers = yield* conversations.appendWithOthers(...terms)
          const accepted = yield* Option.isSome(withOthers)
            ? withOthers
            : yield* conversations.appendPaidMessage(...terms)
          return { accepted, turn: { userId: user.id, agentId: agent.id, turnId: accepted.id } }
        })
      const end = ({ accepted, turn }: Effect.Effect.Success<ReturnType<typeof begin>>) =>
        Effect.gen(function* () {
          assert.isTrue(yield* beginCall(turn, call, UsdMicros(100)))
          yield* endCall(turn, call, { costMicros: UsdMicros(2) })
          const { price, reply } = yield* completion(accepted)
          yield* Effect.flatten(conversations.completeTurn(accepted, reply, price))
        })
      const { id: userId } = locked.user
      const tables = [
        sql`select from users where id = ${userId} for update`,
        sql`select from agents where owner_id = ${userId} for update`,
        sql`select from unit_days where user_id = ${userId} for update`,
        sql`select from turns where user_id = ${userId} for update`,
        sql`select from reservations where user_id = ${userId} for update`,
        sql`select from messages where user_id = ${userId} for update`,
        sql`select from chat_sessions where user_id = ${userId} for update`,
        sql`select pg_advisory_xact_lock(hashtextextended('messages of ' || ${userId}::text, 0))`
      ]
      for (const lock of tables) {
        const sessions = yield* Effect.forEach([locked, ...others], ({ open }) => open)
        const converse = (owner: typeof locked, index: number) =>
          Effect.flatMap(begin(owner, sessions[index] ?? ChatSessionId.make("none")), end)
        const begun = yield* begin(locked, yield* locked.open)
        const [isLocked, isOver] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const holder = yield* lock.pipe(
          Effect.zipRight(Deferred.succeed(isLocked, undefined)),
          Effect.zipRight(Deferred.await(isOver)),
          sql.withTransaction,
          Effect.fork
        )
        yield* Deferred.await(isLocked)
        const waiting = yield* Effect.fork(Effect.all([converse(locked, 0), end(begun)], { concurrency: "unbounded" }))
        yield* Effect.forEach(others, (owner, index) => converse(owner, index + 1), { concurrency: "unbounded" })
        yield* Deferred.succeed(isOver, undefined)
        yield* Fiber.join(holder)
        yield* Fiber.join(waiting)
      }
      assert.strictEqual((yield* readBalance(locked.user)).used, 2 * tables.length)
      for (const { user } of others) assert.strictEqual((yield* readBalance(user)).used, tables.length)
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )
})
