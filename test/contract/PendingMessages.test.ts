import { conversationHeader } from "@berth/api/gateway/OpenAiGatewayApi"
import { makeSseParser } from "@berth/api/http/Sse"
import { AgentOverviewEvent, AgentOverviewView } from "@berth/api/interaction/AgentOverviewsApi"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { Conversations } from "@berth/domain/interaction/conversations/Conversations"
import { ChatSessions } from "@berth/domain/interaction/conversations/ChatSessions"
import { ConversationTurns } from "@berth/domain/interaction/conversations/ConversationTurns"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { OwnerModels } from "@berth/domain/ai/models/OwnerModels"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import { TurnSettlement } from "@berth/domain/interaction/turns/TurnSettlement"
import { TurnStops } from "@berth/domain/interaction/turns/TurnStops"
import { Agents } from "@berth/domain/agents/Agents"
import { Units } from "@berth/domain/shared/Money"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, it, layer } from "@effect/vitest"
import { Array, Context, DateTime, Deferred, Effect, Fiber, Layer, Option, Ref, Schema, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { insertChatSession } from "../support/Samples.ts"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { type OwnerWithAgent, createOwnerWithAgent } from "./OwnerFixtures.ts"
import { deliverChannelMessage, doneEvent, makeRuntimeCalls, platformModel } from "./TurnFixtures.ts"
import { twoProcesses } from "./TwoProcesses.ts"

const perSession = 16
const perUser = 64

const postMessage = (owner: App.SignedIn, json: Readonly<Record<string, unknown>>, path = "/api/agent") =>
  App.web({ method: "POST", path, as: owner, json })

const newSession = (owner: App.SignedIn) =>
  Effect.map(postMessage(owner, { action: "create-session" }), ({ body }) => String(body["sessionId"]))

const pendingOf = ({ user }: OwnerWithAgent) =>
  Effect.gen(function* () {
    const rows = yield* sql`select id from messages where user_id = ${user.id} and state = 'pending'`
    return rows.length
  })

const usedBy = ({ user }: OwnerWithAgent) =>
  Effect.flatMap(UnitLedger, ({ findUsage }) => Effect.map(findUsage(user), ({ used }) => used))

/** Agents that answer after `go`, and the received messages in order. */
const holdAnswers = Effect.gen(function* () {
  const go = yield* Deferred.make<void>()
  const requests: Array<string> = []
  const chat = (_userId: string, turn: Turn): Stream.Stream<TurnEvent> => {
    requests.push(turn.message)
    return Stream.execute(Deferred.await(go)).pipe(
      Stream.concat(Stream.make<[TurnEvent]>({ type: "done", reply: `Echo: ${turn.message}`, model: "test" }))
    )
  }
  const { withBehavior } = yield* AgentManagerTest
  return { requests, during: withBehavior({ chat }), go: Deferred.succeed(go, undefined) }
})

/** Locks new messages of a user until the transaction ends. */
const lockMessages = ({ user }: OwnerWithAgent) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`select pg_advisory_xact_lock(hashtextextended(${`messages of ${user.id}`}, 0))`
  )

const waitingForLocks = Effect.gen(function* () {
  const sql = yield* SqlClient
  const waiting = yield* sql`
    select from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
  return waiting.length
})

const waitingForRows = Effect.gen(function* () {
  const sql = yield* SqlClient
  const waiting = yield* sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and wait_event in ('transactionid', 'tuple')`
  return waiting.length
})

const counter = Effect.map(Ref.make(0), (count) => ({
  answered: Ref.get(count),
  counted: Effect.tap(Ref.update(count, (before) => before + 1))
}))

const many = { concurrency: "unbounded" } as const

const Found = Schema.Struct({ sessions: Schema.Array(Schema.Struct({ id: Schema.String })) })

const Page = Schema.Struct({
  session: Schema.Struct({ messages: Schema.Array(Schema.Struct({ id: Schema.String, content: Schema.String })) })
})

layer(App.shared, { excludeTestServices: true })("Pending messages", (it) => {
  it.effect("Pending messages are limited to sixteen per conversation, in order; one more is a free 429", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { requests, during, go } = yield* holdAnswers
      const { answered, counted } = yield* counter
      yield* during(
        Effect.gen(function* () {
          const sent = yield* Effect.forkDaemon(
            Effect.forEach(
              Array.makeBy(perSession + 8, (n) => `message ${n}`),
              (message) => counted(postMessage(owner, { message, sessionId: owner.conversation })),
              many
            )
          )
          yield* eventually(pendingOf(owner), (pending) => pending === perSession)
          // A message that is received after the first is answered has a later position.
          yield* eventually(answered, (count) => count === 8)
          for (const path of ["/api/agent", "/api/chat"]) {
            const refused = yield* postMessage(owner, { message: "one more" }, path)
            assertError(refused, { status: 429, code: "pending_message_limit_reached" })
            assert.strictEqual(refused.headers["retry-after"], "2")
            assert.deepInclude(refused.body, { of: "session", limit: perSession, retryAfter: 2 })
          }
          const asModel = { model: `agent/${owner.agent.id}`, input: "one more" }
          const messages = [{ role: "user", content: "one more" }]
          for (const path of ["/v1/chat/completions", "/v1/responses"]) {
            const { headers, status } = yield* postMessage(owner, { ...asModel, messages }, path)
            assert.deepStrictEqual([status, headers["retry-after"]], [429, "2"], path)
          }
          assert.strictEqual(requests.length, 1)
          yield* go
          const statuses = (yield* Fiber.join(sent)).map(({ status }) => status)
          assert.deepStrictEqual(
            statuses.toSorted((a, b) => a - b),
            [...Array.replicate(200, perSession), ...Array.replicate(429, 8)]
          )
        })
      )
      assert.strictEqual(requests.length, perSession)
      assert.strictEqual(yield* usedBy(owner), perSession)
      const record = yield* App.web({
        method: "GET",
        path: `/api/agent?action=session&sessionId=${owner.conversation}`,
        as: owner
      })
      const { session } = yield* Schema.decodeUnknown(Page)(record.body)
      assert.deepStrictEqual(
        session.messages.map(({ content }) => content),
        requests.flatMap((message) => [message, `Echo: ${message}`])
      )
    })
  )

  it.effect("Pending messages are limited to sixty-four per user", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { during, go } = yield* holdAnswers
      const { answered, counted } = yield* counter
      const sessions = yield* Effect.replicateEffect(newSession(owner), 5)
      yield* during(
        Effect.gen(function* () {
          const sent = yield* Effect.forkDaemon(
            Effect.forEach(
              sessions.flatMap((sessionId) => Array.makeBy(14, (n) => ({ sessionId, message: `message ${n}` }))),
              (json) => counted(postMessage(owner, json)),
              many
            )
          )
          yield* eventually(pendingOf(owner), (pending) => pending === perUser)
          yield* eventually(answered, (count) => count === 6)
          const sessionId = yield* newSession(owner)
          const refused = yield* postMessage(owner, { message: "one more", sessionId })
          assertError(refused, { status: 429, code: "pending_message_limit_reached" })
          assert.deepInclude(refused.body, { of: "user", limit: perUser })
          yield* go
          const statuses = (yield* Fiber.join(sent)).map(({ status }) => status)
          assert.lengthOf(
            statuses.filter((status) => status === 200),
            perUser
          )
          assert.lengthOf(
            statuses.filter((status) => status === 429),
            6
          )
        })
      )
      assert.strictEqual(yield* usedBy(owner), perUser)
      assert.strictEqual((yield* postMessage(owner, { message: "and now?" })).status, 200)
    })
  )

  /** Half of the messages name an `Idempotency-Key`, so that each is stored together with it. */
  it.effect("Concurrent messages of one user wait in one connection, while other users are answered", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const sql = yield* SqlClient
      const [sessionId, keyedSessionId] = [yield* newSession(owner), yield* newSession(owner)]
      const complete = (key: number) =>
        App.web({
          method: "POST",
          path: "/v1/chat/completions",
          as: owner,
          headers: { "idempotency-key": `key ${key}`, [conversationHeader]: keyedSessionId },
          json: { model: `agent/${owner.agent.id}`, messages: [{ role: "user", content: "hello" }] }
        })
      const sent = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* lockMessages(owner)
          const begun = yield* Effect.forEach(
            Array.makeBy(12, (n) => [complete(n), postMessage(owner, { sessionId, message: "hello" })]).flat(),
            Effect.forkDaemon
          )
          yield* eventually(waitingForLocks, (count) => count > 0)
          assert.strictEqual((yield* postMessage(other, { message: "hello" })).status, 200)
          assert.strictEqual(yield* waitingForLocks, 1)
          return begun
        })
      )
      for (const { status } of yield* Effect.forEach(sent, Fiber.join)) assert.strictEqual(status, 200)
      assert.strictEqual(yield* usedBy(owner), 24)
    })
  )

  it.effect("Concurrent turns of one user above a unit wait in one connection, while other users are answered", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const sql = yield* SqlClient
      const sessions = yield* Effect.replicateEffect(newSession(owner), 12)
      const callModel = yield* makeRuntimeCalls(owner)
      const { withBehavior } = yield* AgentManagerTest
      const [begun, called] = [yield* counter, yield* counter]
      const [mayCall, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const chat = (_userId: string, turn: Turn) => {
        const call = called.counted(callModel(turn, { model: platformModel, maxTokens: 4_000 }))
        const gates = begun
          .counted(Effect.void)
          .pipe(
            Effect.zipRight(Deferred.await(mayCall)),
            Effect.zipRight(call),
            Effect.zipRight(Deferred.await(mayEnd))
          )
        return Stream.concat(Stream.execute(gates), Stream.make(doneEvent))
      }
      const waitForUnits = (gate: Deferred.Deferred<void>) =>
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`select from unit_days where user_id = ${owner.user.id} for update`
            yield* Deferred.succeed(gate, undefined)
            yield* eventually(waitingForRows, (count) => count > 0)
            assert.strictEqual((yield* postMessage(other, { message: "hello" })).status, 200)
            assert.strictEqual(yield* waitingForRows, 1)
          })
        )
      const answers = yield* Effect.forEach(sessions, (sessionId) =>
        Effect.forkDaemon(postMessage(owner, { sessionId, message: "hello" }))
      ).pipe(Effect.tap(eventually(begun.answered, (count) => count === sessions.length)), withBehavior({ chat }))
      yield* waitForUnits(mayCall)
      yield* eventually(called.answered, (count) => count === sessions.length)
      yield* waitForUnits(mayEnd)
      for (const { status } of yield* Effect.forEach(answers, Fiber.join)) assert.strictEqual(status, 200)
      assert.strictEqual(yield* usedBy(owner), sessions.length)
    })
  )
})

/** Reads the overviews of a user's agents, one event at a time; null at the end of the stream. */
const openOverviews = (owner: App.SignedIn) =>
  Effect.gen(function* () {
    const { webUrl } = yield* App.TestApp
    const controller = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (opened) => Effect.sync(() => opened.abort())
    )
    const response = yield* Effect.promise(() =>
      fetch(new URL("/api/agents/overviews", webUrl), {
        headers: { cookie: owner.cookie, accept: "text/event-stream" },
        signal: controller.signal
      })
    )
    const body: ReadableStream<Uint8Array> | null = response.body
    const reader = body?.getReader()
    const parser = makeSseParser()
    const decoder = new TextDecoder()
    let waiting: Array<string> = []
    return Effect.promise(async () => {
      while (waiting.length === 0) {
        const part = await reader?.read()
        if (part === undefined || part.done) return null
        waiting = parser.push(decoder.decode(part.value, { stream: true })).map(({ data }) => data)
      }
      return decodeOverviews(waiting.shift() ?? "")
    })
  })

const decodeOverviews = Schema.decodeSync(Schema.parseJson(AgentOverviewEvent))

layer(App.shared, { excludeTestServices: true })("Agent overviews", (it) => {
  it.scoped("Agent overviews are streamed to their owner as they change, until the session ends", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const agentId = owner.agent.id
      const next = yield* openOverviews(owner)
      const unused = { agentId, status: "running", model: null, provider: null, lastMessage: null, unitsToday: 0 }
      assert.deepEqual<object | null>(yield* next, { agents: [unused], removed: [] })
      yield* postMessage(stranger, { message: "not yours" })
      yield* postMessage(owner, { message: "hello" })
      const last = yield* Effect.repeat(next, {
        until: (event) => event === null || event.agents[0]?.lastMessage?.sender === "agent"
      })
      const answered = last?.agents[0]
      if (answered === undefined) return assert.fail("the stream ended")
      const { lastMessage, ...figures } = answered
      const used = { agentId, status: "running", model: "sandbox/echo", provider: "sandbox", unitsToday: 1 }
      assert.deepEqual<object>(figures, used)
      assert.strictEqual(lastMessage?.text, "Echo: hello")
      const listed = yield* App.web({ method: "GET", path: "/api/agents/overviews", as: owner })
      assert.deepStrictEqual(listed.body["agents"], [Schema.encodeSync(AgentOverviewView)(answered)])
      yield* App.web({ method: "DELETE", path: `/api/agents/provision/${agentId}`, as: owner })
      assert.deepStrictEqual(yield* next, { agents: [], removed: [agentId] })
      yield* App.web({ method: "POST", path: "/api/auth/signout", as: owner })
      assert.match(String(yield* Effect.flip(Effect.sandbox(next))), /terminated/)
    })
  )
})

it.scopedLive(
  "A message of a channel that two processes receive at the same time is answered once and charged once",
  () =>
    Effect.gen(function* () {
      const { here, there } = yield* twoProcesses
      yield* Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const sql = yield* SqlClient
        const deliver = deliverChannelMessage(owner, {
          sessionId: `chs_of_${owner.user.id}`,
          messageId: `msg_of_${owner.user.id}`,
          fromOwner: false,
          message: "hello"
        })
        const deliveries = yield* sql.withTransaction(
          Effect.gen(function* () {
            // Both deliveries have found no message yet.
            yield* lockMessages(owner)
            const begun = yield* Effect.forEach([here, there], (process) =>
              Effect.forkDaemon(Effect.provide(deliver, process))
            )
            yield* eventually(waitingForLocks, (count) => count === 2)
            return begun
          })
        )
        const outcomes = yield* Effect.forEach(deliveries, Fiber.join)
        const answered = outcomes.filter(({ status }) => status === 200)
        assert.isAtLeast(answered.length, 1)
        for (const { body } of [...answered, yield* deliver])
          assert.deepInclude(body, { type: "answered", reply: "Echo: hello" })
        assert.deepStrictEqual(yield* sql`select sender from messages where user_id = ${owner.user.id} order by seq`, [
          { sender: "user" },
          { sender: "agent" }
        ])
        assert.deepStrictEqual(yield* sql`select state from reservations where user_id = ${owner.user.id}`, [
          { state: "settled" }
        ])
        assert.strictEqual(yield* usedBy(owner), 1)
      }).pipe(Effect.provide(here))
      const requested = yield* Effect.forEach([here, there], (process) => Context.get(process, AgentManagerTest).calls)
      assert.deepStrictEqual(
        requested.flat().flatMap(({ method, turn }) => (method === "chat" ? [turn?.message] : [])),
        ["hello"]
      )
    })
)

const WithConversations = Conversations.Default.pipe(
  Layer.provide(Layer.merge(ConversationTurns.Default, ChatSessions.Default)),
  Layer.provide(Layer.mergeAll(TurnSettlement.Default, TurnStops.Default, Memories.Default)),
  Layer.provide(Layer.mock(Agents, { _tag: "@berth/Agents" })),
  Layer.provide(Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 })),
  Layer.provide(Layer.mock(OwnerModels, { isCoveredByOwnKeys: () => Effect.succeed(false) })),
  Layer.provideMerge(App.layer())
)

layer(WithConversations, { excludeTestServices: true })("Messages in transactions of their callers", (it) => {
  const openSession = ({ agent, user }: OwnerWithAgent) =>
    Effect.gen(function* () {
      const { id } = yield* insertChatSession(agent)
      return yield* Effect.flatten((yield* ConversationRepository).findSession(user.id, id))
    })

  it.effect("Calls with one message id at the same time are answered once, all by the same reply", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { answerOnce } = yield* Conversations
      const session = yield* openSession(owner)
      const id = MessageId.make(yield* (yield* IdGenerator).next("msg"))
      const message = Effect.succeed("hello")
      const call = answerOnce(owner.user, { id, session, platform: "platformA", message })
      const ends = yield* Effect.replicateEffect(call, 5, many)
      const replies = ends.map((end) => (end._tag === "Answered" ? end.reply.id : end.reason))
      assert.strictEqual(new Set(replies).size, 1)
      assert.isTrue(ends.every(({ _tag }) => _tag === "Answered"))
      assert.strictEqual(yield* usedBy(owner), 1)
    })
  )

  it.effect("A message, the deletion of a conversation and a release of its units do not deadlock", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const [{ stream }, { next }, ledger, sql] = yield* Effect.all([Conversations, IdGenerator, UnitLedger, SqlClient])
      const { appendUserMessage, removeSession } = yield* ConversationRepository
      const [deleted, session] = yield* Effect.all([openSession(owner), openSession(owner)])
      const [failed, id] = [MessageId.make(yield* next("msg")), MessageId.make(yield* next("msg"))]
      const reservation = yield* ledger.reserve(owner.user, Units(2), failed)
      const leaseUntil = DateTime.add(yield* DateTime.now, { minutes: 1 })
      yield* appendUserMessage(
        { id: failed, sessionId: deleted.id, content: "hello", topic: null, platform: "web" },
        { reservation, ownKeysOnly: false, leaseUntil }
      )
      const after = <A, E>(gate: Deferred.Deferred<void>, effect: Effect.Effect<A, E>) =>
        Effect.fork(Effect.zipRight(Deferred.await(gate), effect))
      const [mayRelease, mayDelete] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const release = yield* after(mayRelease, ledger.release(yield* reservation))
      const deletion = yield* after(mayDelete, removeSession(owner.user.id, deleted.id))
      const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      const awaitStarted = (fibers: ReadonlyArray<Fiber.RuntimeFiber<unknown>>) =>
        eventually(
          Effect.zipWith(
            waiting,
            Effect.all(fibers.map(Fiber.poll)),
            (waits, polls) => waits.length + polls.filter(Option.isSome).length
          ),
          (started) => started >= fibers.length
        )
      const before = Effect.gen(function* () {
        yield* Deferred.succeed(mayRelease, undefined)
        yield* awaitStarted([release])
        yield* Deferred.succeed(mayDelete, undefined)
        yield* awaitStarted([release, deletion])
      })
      const answer = yield* stream(
        owner.user,
        { id, session, message: "hello", platform: "a2a" },
        { before: Effect.orDie(before), alongside: Effect.void, canceled: Effect.never }
      )
      yield* Stream.runDrain(answer)
      yield* Fiber.join(release)
      assert.deepStrictEqual(yield* Fiber.join(deletion), Option.some([failed]))
      assert.strictEqual(yield* usedBy(owner), 1)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("Conversations", (it) => {
  it.effect("Conversations are limited to ten thousand per user", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* sql`
        insert into chat_sessions (id, user_id, agent_id, status, created_at, last_activity)
        select 'chs_' || user_id || n, user_id, agent_id, status, created_at, created_at
        from chat_sessions, generate_series(2, 9999) as n where id = ${owner.conversation}`
      assert.strictEqual((yield* postMessage(owner, { action: "create-session" })).status, 200)
      const refused = yield* postMessage(owner, { action: "create-session" })
      assertError(refused, { status: 429, code: "chat_session_limit_reached" })
      assert.deepInclude(refused.body, { limit: 10_000 })
      assert.strictEqual((yield* postMessage(owner, { message: "hello" })).status, 200)
    })
  )

  it.effect("Conversations are found by their title and their messages, with any characters", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* postMessage(owner, { message: "50% of C:\\dir_1 for the cat", sessionId: owner.conversation })
      const other = yield* newSession(owner)
      const path = `/api/agent/sessions/${other}`
      yield* App.web({ method: "PATCH", path, as: owner, json: { title: "Catalog" } })
      for (const [search, found] of [
        ["CAT", [other, owner.conversation]],
        ["catalog", [other]],
        ["0% of c:\\D", [owner.conversation]],
        ["r_1", [owner.conversation]],
        ["_a", []],
        [" ", [other, owner.conversation]]
      ] as const) {
        const query = new URLSearchParams({ action: "sessions", agentId: owner.agent.id, search }).toString()
        const { body } = yield* App.web({ method: "GET", path: `/api/agent?${query}`, as: owner })
        const { sessions } = yield* Schema.decodeUnknown(Found)(body)
        assert.sameMembers(
          sessions.map(({ id }) => id),
          [...found],
          search
        )
      }
    })
  )

  it.effect("The title of a conversation has at most 200 characters, counted as code points", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const rename = (title: string) =>
        App.web({ method: "PATCH", path: `/api/agent/sessions/${owner.conversation}`, as: owner, json: { title } })
      assert.strictEqual((yield* rename("⚓\u{1f6a2}".repeat(100))).status, 200)
      assertError(yield* rename("\u{1f6a2}".repeat(201)), { status: 400, code: "title_invalid" })
    })
  )

  it.effect("Conversations are read page by page, backwards from a message", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (let n = 1; n <= 4; n++) yield* postMessage(owner, { message: `${n}` })
      const page = (query: string) =>
        Effect.gen(function* () {
          const path = `/api/agent?action=session&sessionId=${owner.conversation}${query}`
          const answer = yield* App.web({ method: "GET", path, as: owner })
          return (yield* Schema.decodeUnknown(Page)(answer.body)).session.messages
        })
      const all = yield* page("")
      assert.lengthOf(all, 8)
      const backwards: Array<string> = []
      let before = ""
      for (let pages = 0; pages < 5; pages++) {
        const messages = yield* page(`&limit=3${before}`)
        backwards.unshift(...messages.map(({ id }) => id))
        before = `&before=${messages[0]?.id ?? "msg_0"}`
      }
      assert.deepStrictEqual(
        backwards,
        all.map(({ id }) => id)
      )
      assert.lengthOf(yield* page("&limit=0"), 1)
      assert.lengthOf(yield* page("&limit=1000"), 8)
      assert.deepStrictEqual(yield* page("&before=msg_0"), [])
      const none = yield* App.web({
        method: "GET",
        path: `/api/agent?action=session&sessionId=${owner.conversation}&limit=x`,
        as: owner
      })
      assert.strictEqual(none.status, 400)
    })
  )
})
