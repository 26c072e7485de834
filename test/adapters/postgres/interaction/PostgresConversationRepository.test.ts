import { AgentId } from "@berth/domain/shared/AgentId"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { type ChatSession, ChatSessionId, type Message, MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { Units } from "@berth/domain/shared/Money"
import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import type { User } from "@berth/domain/shared/User"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresConversationRepository from "@berth/infra/postgres/interaction/PostgresConversationRepository"
import * as PostgresMemoryRepository from "@berth/infra/postgres/interaction/PostgresMemoryRepository"
import { MemoryRepository } from "@berth/domain/interaction/memory/MemoryRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Layer, Option, TestClock, TestContext } from "effect"
import { eventually } from "../../../support/Eventually.ts"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertAgent, insertChatSession, insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.mergeAll(
  PostgresConversationRepository.layer,
  PostgresMemoryRepository.layer,
  PostgresAgentRepository.layer,
  PostgresUserRepository.layer,
  // Concurrent requests share statements.
  Layer.succeed(SpanExportEnabled, false)
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const minute = (n: number) => DateTime.unsafeMake(Date.UTC(2026, 2, 1, 12, n))
const newMessageId = Effect.flatMap(IdGenerator, ({ next }) => Effect.map(next("msg"), (id) => MessageId.make(id)))

/** A user with an agent and a session, last used at minute 0. */
const conversation = Effect.gen(function* () {
  const user = yield* insertUser()
  const agent = yield* insertAgent(user.id)
  const open = (at = minute(0)) => insertChatSession(agent, at)
  return { user, agent, open, session: yield* open() }
})

const turn = { leaseUntil: minute(5), reservation: Option.none(), ownKeysOnly: false }

const say = (session: ChatSession, content: string) =>
  Effect.gen(function* () {
    const { appendUserMessage } = yield* ConversationRepository
    const id = yield* newMessageId
    return yield* appendUserMessage({ id, sessionId: session.id, content, topic: "weather", platform: "web" }, turn)
  })

const reply = (message: Message, content: string) =>
  Effect.gen(function* () {
    const { storeReply } = yield* ConversationRepository
    return yield* storeReply(message, { id: yield* newMessageId, content })
  })

const contents = (messages: ReadonlyArray<Message>) => messages.map(({ content }) => content)

const historyOf = (message: Message, limit = 10) =>
  Effect.gen(function* () {
    const { recallForTurn } = yield* MemoryRepository
    const { history } = yield* recallForTurn(message, { notes: 1, messages: 1, history: limit })
    return history.map(({ content }) => content)
  })

layer(Live, { excludeTestServices: true })("ConversationRepository", (it) => {
  it.effect("findPreviews returns the beginning of each session's newest user message", () =>
    Effect.gen(function* () {
      const { findPreviews } = yield* ConversationRepository
      const { open, session } = yield* conversation
      const [second, unused] = yield* Effect.all([open(), open()])
      yield* reply(yield* say(session, "before"), "reply")
      yield* reply(yield* say(session, "😀".repeat(20)), "reply")
      yield* say(second, "hello")
      const previews = yield* findPreviews([session.id, second.id, unused.id], 10)
      assert.deepStrictEqual(
        previews,
        new Map([
          [session.id, "😀".repeat(10)],
          [second.id, "hello"]
        ])
      )
      assert.strictEqual((yield* findPreviews([], 10)).size, 0)
    })
  )

  it.effect("findSession returns a session to its user only, and listSessions the last used first", () =>
    Effect.gen(function* () {
      const { findActiveSession, findSession, findSessionWithAgent, listSessions } = yield* ConversationRepository
      const { agent, open, session, user } = yield* conversation
      const stranger = yield* insertUser()
      const [second, third] = yield* Effect.all([open(minute(1)), open(minute(2))])
      assert.deepStrictEqual(yield* findSession(user.id, session.id), Option.some(session))
      assert.deepStrictEqual(yield* findSession(stranger.id, session.id), Option.none())
      assert.deepStrictEqual(yield* findSession(user.id, ChatSessionId.make("chs_\u0000")), Option.none())
      assert.deepStrictEqual(yield* listSessions(user.id, 2), [third, second])
      yield* say(session, "hello")
      const [first] = yield* listSessions(user.id, 3)
      assert.deepInclude(first, { id: session.id, messageCount: 1 })
      const { status: agentStatus } = agent
      assert.deepStrictEqual(
        yield* findActiveSession(user.id, agent.id),
        Option.some({ session: Option.fromNullable(first), agentStatus })
      )
      assert.deepStrictEqual(
        yield* findSessionWithAgent(user.id, session.id),
        Option.map(Option.fromNullable(first), (known) => ({ session: known, agentStatus: Option.some(agentStatus) }))
      )
      assert.deepStrictEqual(yield* findSessionWithAgent(stranger.id, session.id), Option.none())
      assert.deepStrictEqual(yield* findActiveSession(stranger.id, agent.id), Option.none())
      assert.deepStrictEqual(yield* findActiveSession(user.id, AgentId.make("agt_none")), Option.none())
    })
  )

  it.effect("storeReply stores message and reply, counts both and touches the session", () =>
    Effect.gen(function* () {
      const { findSession, readRecord } = yield* ConversationRepository
      const { agent, session, user } = yield* conversation
      const message = yield* say(session, "hello \u0000 🦊")
      assert.deepInclude(message, {
        sessionId: session.id,
        userId: user.id,
        agentId: agent.id,
        seq: 1,
        sender: "user",
        content: "hello \uFFFD 🦊",
        topic: "weather",
        platform: "web",
        state: "pending"
      })
      const answered = Option.getOrThrow(yield* reply(message, "hi"))
      assert.deepInclude(answered, {
        sessionId: session.id,
        userId: user.id,
        agentId: agent.id,
        seq: 2,
        sender: "agent",
        content: "hi",
        topic: "weather",
        platform: "web",
        state: "answered"
      })
      assert.deepStrictEqual(yield* readRecord(session.id, 10), [{ ...message, state: "answered" }, answered])
      const touched = Option.getOrThrow(yield* findSession(user.id, session.id))
      assert.strictEqual(touched.messageCount, 2)
      assert.isTrue(DateTime.greaterThanOrEqualTo(touched.lastActivity, answered.createdAt))
      assert.strictEqual((yield* say(session, "and now?")).seq, 3)
    })
  )

  it.effect("appendUserMessage numbers concurrent messages uniquely, each with a number for its reply", () =>
    Effect.gen(function* () {
      const { findSession, isNext } = yield* ConversationRepository
      const { session, user } = yield* conversation
      const appended = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => `message ${n}`),
        (content) => say(session, content),
        { concurrency: "unbounded" }
      )
      const seqs = appended.map(({ seq }) => seq).sort((a, b) => a - b)
      assert.deepStrictEqual(
        seqs,
        Array.from({ length: 20 }, (_, n) => 2 * n + 1)
      )
      assert.strictEqual(Option.getOrThrow(yield* findSession(user.id, session.id)).messageCount, 20)
      const next = yield* Effect.filter(appended, isNext)
      assert.deepStrictEqual(
        next.map(({ seq }) => seq),
        [1]
      )
    })
  )

  it.effect("isNext is false behind pending messages, whose replies become the history", () =>
    Effect.gen(function* () {
      const { markFailed, isNext } = yield* ConversationRepository
      const { session } = yield* conversation
      const first = yield* say(session, "1")
      const failing = yield* say(session, "2")
      const third = yield* say(session, "3")
      assert.isTrue(yield* isNext(first))
      assert.isFalse(yield* isNext(failing))
      yield* reply(first, "1!")
      assert.isTrue(yield* isNext(failing))
      assert.isFalse(yield* isNext(third))
      assert.isTrue(yield* markFailed(failing.id))
      assert.isTrue(yield* isNext(third))
      assert.deepStrictEqual(yield* historyOf(third), ["1", "1!"])
      yield* reply(third, "3!")
      assert.deepStrictEqual(yield* historyOf(third), ["1", "1!"])
      assert.deepStrictEqual(yield* historyOf({ ...third, seq: third.seq + 2 }, 3), ["1!", "3", "3!"])
    })
  )

  it.effect("storeReply and markFailed end a message once under concurrency", () =>
    Effect.gen(function* () {
      const { markFailed, findSession } = yield* ConversationRepository
      const { session, user } = yield* conversation
      const message = yield* say(session, "hello")
      const answers = yield* Effect.replicateEffect(reply(message, "hi"), 10, { concurrency: "unbounded" })
      assert.strictEqual(answers.filter(Option.isSome).length, 1)
      assert.isFalse(yield* markFailed(message.id))
      assert.deepStrictEqual(yield* historyOf({ ...message, seq: message.seq + 2 }), ["hello", "hi"])
      assert.strictEqual(Option.getOrThrow(yield* findSession(user.id, session.id)).messageCount, 2)

      const unanswered = yield* say(session, "still there?")
      const failures = yield* Effect.replicateEffect(markFailed(unanswered.id), 10, { concurrency: "unbounded" })
      assert.lengthOf(failures.filter(Boolean), 1)
      assert.deepStrictEqual(yield* reply(unanswered, "late"), Option.none())
    })
  )

  it.effect("markFailed keeps a partial answer once, in the record and in no transcript", () =>
    Effect.gen(function* () {
      const { findReply, findSession, markFailed, readRecord } = yield* ConversationRepository
      const { session, user } = yield* conversation
      const message = yield* say(session, "Tell!")
      const failure = { callBegun: true, reason: "the agent stopped answering" }
      const id = yield* newMessageId
      const ends = yield* Effect.replicateEffect(
        markFailed(message.id, failure, { id, content: "Half an\u0000" }),
        10,
        {
          concurrency: "unbounded"
        }
      )
      assert.lengthOf(ends.filter(Boolean), 1)
      assert.deepStrictEqual(yield* findReply(message), Option.none())
      assert.deepStrictEqual(yield* historyOf({ ...message, seq: message.seq + 2 }), [])
      assert.strictEqual(Option.getOrThrow(yield* findSession(user.id, session.id)).messageCount, 2)
      yield* say(session, "Tell!")
      const record = yield* readRecord(session.id, 10)
      assert.deepStrictEqual(
        record.map(({ content, failure, isStopped, sender, seq, state }) => ({
          content,
          failure,
          isStopped,
          sender,
          seq,
          state
        })),
        [
          { content: "Tell!", failure: failure.reason, isStopped: false, sender: "user", seq: 1, state: "failed" },
          {
            content: "Half an\uFFFD",
            failure: failure.reason,
            isStopped: false,
            sender: "agent",
            seq: 2,
            state: "failed"
          },
          { content: "Tell!", failure: null, isStopped: false, sender: "user", seq: 3, state: "pending" }
        ]
      )
    })
  )

  it.effect("findMessage returns a message to its sender only", () =>
    Effect.gen(function* () {
      const { findMessage } = yield* ConversationRepository
      const { session, user } = yield* conversation
      const stranger = yield* insertUser()
      const message = yield* say(session, "hello")
      assert.deepStrictEqual(yield* findMessage(user.id, message.id), Option.some(message))
      const answered = yield* reply(message, "hi")
      assert.deepStrictEqual(yield* findMessage(stranger.id, message.id), Option.none())
      assert.deepStrictEqual(yield* findMessage(user.id, MessageId.make("msg_\u0000")), Option.none())
      assert.deepStrictEqual(yield* findMessage(user.id, Option.getOrThrow(answered).id), Option.none())
    })
  )

  it.effect("appendUserMessage enforces the limits of pending messages and rejects a deleted session", () =>
    Effect.gen(function* () {
      const { appendUserMessage, markFailed, removeSessions } = yield* ConversationRepository
      const { open, session, user } = yield* conversation
      const other = yield* open()
      const limits = { session: 2, user: 3 }
      const add = (to: ChatSession) =>
        Effect.flatMap(newMessageId, (id) =>
          appendUserMessage({ id, sessionId: to.id, content: "hello", topic: null, platform: "web" }, turn, limits)
        )
      const first = yield* add(session)
      yield* add(session)
      assert.deepInclude(yield* Effect.flip(add(session)), {
        _tag: "PendingMessageLimitReached",
        of: "session",
        limit: 2
      })
      yield* add(other)
      assert.deepInclude(yield* Effect.flip(add(other)), { _tag: "PendingMessageLimitReached", of: "user", limit: 3 })
      yield* markFailed(first.id)
      assert.strictEqual((yield* add(session)).seq, 5)
      yield* removeSessions(user.id)
      assert.deepInclude(yield* Effect.flip(add(session)), { _tag: "ChatSessionNotFound" })
    })
  )

  it.effect("appendUserMessage keeps a failed message when the limit rejects the one that repeats it", () =>
    Effect.gen(function* () {
      const { appendUserMessage, findMessage, markFailed } = yield* ConversationRepository
      const { session, user } = yield* conversation
      const failed = yield* say(session, "hello")
      yield* markFailed(failed.id, { callBegun: false })
      yield* say(session, "waits")
      const id = yield* newMessageId
      const repeated = { id, sessionId: session.id, content: "hello", topic: null, platform: "web", repeats: failed.id }
      const add = (limit: number) => appendUserMessage(repeated, turn, { session: limit, user: limit })
      assert.deepInclude(yield* Effect.flip(add(1)), { _tag: "PendingMessageLimitReached" })
      assert.isTrue(Option.isSome(yield* findMessage(user.id, failed.id)))
      yield* add(2)
      assert.deepStrictEqual(yield* findMessage(user.id, failed.id), Option.none())
    })
  )

  /** The rows of a user's paid messages, and the units in use. */
  const countPaid = (userId: string) =>
    sql`
        select (select count(*)::int from messages where user_id = ${userId}) as messages,
          (select count(*)::int from turns join reservations on reservations.id = reservation_id
            where turns.user_id = ${userId} and cause = turns.id and state = 'reserved') as turns,
          (select count(*)::int from reservations where user_id = ${userId}) as reservations,
          coalesce((select sum(used)::int from unit_days where user_id = ${userId}), 0) as used`

  const sayPaid = (user: User, session: ChatSession, daily: number, pending = 64) =>
    Effect.gen(function* () {
      const { appendPaidMessage } = yield* ConversationRepository
      const id = yield* newMessageId
      return yield* appendPaidMessage(
        { id, sessionId: session.id, content: "hello", topic: null, platform: "web" },
        { leaseUntil: minute(5) },
        { user, agentId: session.agentId, units: Units(2), dailyUnitsOf: () => Units(daily) },
        { session: pending, user: pending }
      )
    })

  it.effect(
    "appendPaidMessage stores a message with its turn and reservation, or nothing without units, room or session",
    () =>
      Effect.gen(function* () {
        const { removeSessions } = yield* ConversationRepository
        const { session, user } = yield* conversation
        assert.isTrue(Option.isSome(yield* sayPaid(user, session, 4)))
        const one = [{ messages: 1, turns: 1, reservations: 1, used: 2 }]
        assert.deepStrictEqual(yield* countPaid(user.id), one)
        const refused = Effect.gen(function* () {
          const withoutUnits = yield* sayPaid(user, session, 3)
          const withoutRoom = yield* sayPaid(user, session, 100, 1)
          const onOtherPlan = yield* sayPaid({ ...user, plan: "pro" }, session, 100)
          return [withoutUnits, withoutRoom, onOtherPlan]
        })
        assert.deepStrictEqual(yield* refused, [Option.none(), Option.none(), Option.none()])
        assert.deepStrictEqual(yield* countPaid(user.id), one)
        yield* removeSessions(user.id)
        assert.deepStrictEqual(yield* sayPaid(user, session, 100), Option.none())
        assert.deepStrictEqual(yield* countPaid(user.id), [{ messages: 0, turns: 1, reservations: 1, used: 2 }])
      })
  )

  it.effect("appendPaidMessage admits exactly the concurrent messages that the day's units pay", () =>
    Effect.gen(function* () {
      const { open, user } = yield* conversation
      const sessions = yield* Effect.replicateEffect(open(), 12)
      const appended = yield* Effect.forEach(sessions, (session) => sayPaid(user, session, 15), {
        concurrency: "unbounded"
      })
      assert.strictEqual(appended.filter(Option.isSome).length, 7)
      assert.deepStrictEqual(yield* countPaid(user.id), [{ messages: 7, turns: 7, reservations: 7, used: 14 }])
    })
  )

  const awaitLock = eventually(
    sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    (waiting) => waiting.length === 1
  )

  it.effect("appendPaidMessage reserves nothing for a conversation that is deleted while it waits", () =>
    Effect.gen(function* () {
      const { removeSession } = yield* ConversationRepository
      const sql = yield* SqlClient
      const { session, user } = yield* conversation
      const [removed, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const removing = removeSession(user.id, session.id).pipe(
        Effect.zipRight(Deferred.succeed(removed, undefined)),
        Effect.zipRight(Deferred.await(go)),
        sql.withTransaction
      )
      yield* Effect.fork(removing)
      yield* Deferred.await(removed)
      const sent = yield* Effect.fork(sayPaid(user, session, 100))
      yield* awaitLock
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual(yield* Fiber.join(sent), Option.none())
      assert.deepStrictEqual(yield* countPaid(user.id), [{ messages: 0, turns: 0, reservations: 0, used: 0 }])
    })
  )

  type Removal = (session: ChatSession) => Effect.Effect<unknown, never, ConversationRepository>
  const removals: ReadonlyArray<readonly [name: string, remove: Removal, expected: unknown]> = [
    [
      "removeSession",
      ({ id, userId }) => Effect.flatMap(ConversationRepository, ({ removeSession }) => removeSession(userId, id)),
      Option.some([])
    ],
    [
      "removeSessions",
      ({ userId }) => Effect.flatMap(ConversationRepository, ({ removeSessions }) => removeSessions(userId)),
      1
    ]
  ]

  for (const [name, remove, expected] of removals)
    it.effect(`${name} waits for a reply that is stored at the same time, and both succeed`, () =>
      Effect.gen(function* () {
        const { findSession } = yield* ConversationRepository
        const sql = yield* SqlClient
        const { session, user } = yield* conversation
        const message = yield* say(session, "hello")
        const [locked, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        // The first lock of `storeReply`.
        const lock = sql`select from messages where id = ${message.id} for update`
        const replying = lock.pipe(
          Effect.zipRight(Deferred.succeed(locked, undefined)),
          Effect.zipRight(Deferred.await(go)),
          Effect.zipRight(reply(message, "hi")),
          sql.withTransaction
        )
        const replied = yield* Effect.fork(replying)
        yield* Deferred.await(locked)
        const removed = yield* Effect.fork(remove(session))
        yield* awaitLock
        yield* Deferred.succeed(go, undefined)
        assert.isTrue(Option.isSome(yield* Fiber.join(replied)))
        assert.deepStrictEqual(yield* Fiber.join(removed), expected)
        assert.deepStrictEqual(yield* findSession(user.id, session.id), Option.none())
      })
    )

  it.effect("removeSession returns a pending message that is accepted at the same time", () =>
    Effect.gen(function* () {
      const { removeSession } = yield* ConversationRepository
      const sql = yield* SqlClient
      const { session, user } = yield* conversation
      const [accepted, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const accepting = say(session, "hello").pipe(
        Effect.tap(Deferred.succeed(accepted, undefined)),
        Effect.tap(Deferred.await(go)),
        sql.withTransaction
      )
      const appended = yield* Effect.fork(accepting)
      yield* Deferred.await(accepted)
      const removed = yield* Effect.fork(removeSession(user.id, session.id))
      yield* eventually(
        sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        (waiting) => waiting.length === 1
      )
      yield* Deferred.succeed(go, undefined)
      const { id } = yield* Fiber.join(appended)
      assert.deepStrictEqual(yield* Fiber.join(removed), Option.some([id]))
    })
  )

  it.effect("insertSession enforces the limit of sessions per user", () =>
    Effect.gen(function* () {
      const { findSession, insertSession } = yield* ConversationRepository
      const { session, user } = yield* conversation
      const another = (n: number) => ({ ...session, id: ChatSessionId.make(`${session.id}${n}`) })
      assert.isTrue(yield* insertSession(another(2), 2))
      assert.isFalse(yield* insertSession(another(3), 2))
      assert.deepStrictEqual(yield* findSession(user.id, another(2).id), Option.some(another(2)))
      assert.deepStrictEqual(yield* findSession(user.id, another(3).id), Option.none())
    })
  )

  it.effect("listByUser and countByUser cover all sessions of a user, newest first", () =>
    Effect.gen(function* () {
      const { countByUser, listByUser } = yield* ConversationRepository
      const { open, session, user } = yield* conversation
      const other = yield* open()
      const stranger = yield* conversation
      yield* reply(yield* say(session, "1"), "1!")
      yield* TestClock.adjust("1 second")
      yield* reply(yield* say(other, "2"), "2!")
      yield* TestClock.adjust("1 second")
      yield* say(stranger.session, "not mine")
      yield* say(session, "3")
      assert.strictEqual(yield* countByUser(user.id), 5)
      assert.deepStrictEqual(contents(yield* listByUser(user.id, 4)), ["3", "2!", "2", "1!"])
      assert.strictEqual(yield* countByUser(stranger.user.id), 1)
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("findAgentFigures counts outcomes of messages and averages the reply time", () =>
    Effect.gen(function* () {
      const { markFailed, findAgentFigures } = yield* ConversationRepository
      const { agent, open, session } = yield* conversation
      const stranger = yield* conversation
      const since = yield* DateTime.now
      assert.deepStrictEqual(yield* findAgentFigures(agent.id, since), {
        answered: 0,
        failed: 0,
        recent: 0,
        averageAnswerMs: null
      })
      const first = yield* say(session, "1")
      yield* TestClock.adjust("1 second")
      yield* reply(first, "1!")
      const second = yield* say(yield* open(), "2")
      yield* TestClock.adjust("3 seconds")
      yield* reply(second, "2!")
      yield* markFailed((yield* say(session, "3")).id)
      yield* reply(yield* say(session, "4"), "4!")
      yield* say(session, "waits")
      yield* reply(yield* say(stranger.session, "not its own"), "no")
      assert.deepStrictEqual(yield* findAgentFigures(agent.id, since), {
        answered: 3,
        failed: 1,
        recent: 3,
        averageAnswerMs: 4000 / 3
      })
    }).pipe(Effect.provide(TestContext.TestContext))
  )
})
