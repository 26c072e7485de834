import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { TurnFailed, type TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Metric, MetricState, Predicate, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { parseEvents, type ParsedServerSentEvent } from "./ServerSentEvents.ts"
import { type OwnerWithAgent, createOwnerWithAgent } from "./OwnerFixtures.ts"
import { makeRuntimeCalls, platformModel } from "./TurnFixtures.ts"

const streaming = { accept: "text/event-stream" }

const words = ["Once ", "upon ", "a ", "time ", "\u{1F98A}", "."]
const reply = words.join("")

const pieces: ReadonlyArray<TurnEvent> = words.map((text) => ({ type: "delta", text }))
const whole: ReadonlyArray<TurnEvent> = [...pieces, { type: "done", reply, model: "test", provider: "sandbox" }]

const routes = [
  {
    path: "/api/agent",
    done: ["costMicros", "durationMs", "model", "provider", "reply", "sessionId", "timestamp", "units"]
  },
  {
    path: "/api/chat",
    done: [
      "costMicros",
      "durationMs",
      "id",
      "message",
      "model",
      "provider",
      "reply",
      "status",
      "timestamp",
      "topic",
      "units"
    ]
  }
] as const

const postMessage = (owner: App.SignedIn, path: string, headers: Readonly<Record<string, string>> = {}) =>
  App.web({ method: "POST", path, as: owner, json: { message: "Tell!" }, headers: { ...streaming, ...headers } })

const follow = (owner: App.SignedIn, messageId: string, lastEventId?: string) =>
  App.web({
    method: "GET",
    path: `/api/agent/messages/${messageId}/events`,
    as: owner,
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId }
  })

const stop = (owner: App.SignedIn, messageId: string) =>
  App.web({ method: "POST", path: `/api/agent/messages/${messageId}/stop`, as: owner })

const messageIdOf = (event: ParsedServerSentEvent | undefined) => MessageId.make(event?.id?.split(":")[0] ?? "")

const streamWholeAnswer = (owner: App.SignedIn, path: string) =>
  Effect.gen(function* () {
    const { withBehavior } = yield* AgentManagerTest
    const events = parseEvents(
      yield* withBehavior({ chat: () => Stream.fromIterable(whole) })(postMessage(owner, path))
    )
    return { events, id: messageIdOf(events[0]) }
  })

/** A message whose answer waits for `go` after its first events. */
const startAnswer = (owner: App.SignedIn, storedCount = 3, headers: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const { withBehavior } = yield* AgentManagerTest
    const go = yield* Deferred.make<void>()
    const chat = () =>
      Stream.fromIterable(whole.slice(0, storedCount)).pipe(
        Stream.concat(Stream.execute(Deferred.await(go))),
        Stream.concat(Stream.fromIterable(whole.slice(storedCount)))
      )
    const client = yield* Effect.forkDaemon(withBehavior({ chat })(postMessage(owner, "/api/agent", headers)))
    const [row] = yield* eventually(
      sql<{ messageId: string }>`
        select message_id from answer_events join messages on messages.id = message_id
        where user_id = ${owner.user.id} group by 1 having sum(answer_events.delta_count) >= ${storedCount}`,
      (rows) => rows.length === 1
    )
    return { id: MessageId.make(row?.messageId ?? ""), client, finish: Deferred.succeed(go, undefined) }
  })

const countOpenStreams = () =>
  Metric.unsafeSnapshot()
    .filter(({ metricKey }) => metricKey.name === "berth_streams_open")
    .reduce((sum, { metricState }) => sum + (MetricState.isGaugeState(metricState) ? Number(metricState.value) : 0), 0)

/** Each request has its own trace. */
const withoutTraceId = ({ data, ...event }: ParsedServerSentEvent) => {
  const { traceId: _, ...rest } = Predicate.isRecord(data) ? data : {}
  return { ...event, data: rest }
}

const messagesOf = ({ user }: OwnerWithAgent) =>
  Effect.flatMap(ConversationRepository, ({ countByUser }) => countByUser(user.id))

const usedBy = ({ user }: OwnerWithAgent) =>
  Effect.gen(function* () {
    const { findUsage } = yield* UnitLedger
    return (yield* findUsage(user)).used
  })

layer(App.shared, { excludeTestServices: true })("A resumed stream", (it) => {
  for (const { done, path } of routes)
    it.effect(`A resumed stream of POST ${path} has the events behind any event, and sends no message again`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { events, id } = yield* streamWholeAnswer(owner, path)
        assert.deepStrictEqual(
          events.map(({ event }) => event),
          [...words.map(() => "delta"), "done"]
        )
        const last = events.at(-1)?.data
        assert.deepInclude(last, { reply })
        assert.hasAllKeys(last, [...done])
        for (let after = 0; after <= events.length; after++) {
          const resumed = yield* postMessage(owner, path, { "last-event-id": `${id}:${after}` })
          assert.strictEqual(resumed.status, 200)
          assert.match(resumed.headers["content-type"] ?? "", /^text\/event-stream/)
          assert.deepStrictEqual(parseEvents(resumed), events.slice(after))
        }
        assert.strictEqual(yield* messagesOf(owner), 2)
        assert.strictEqual(yield* usedBy(owner), 1)
      })
    )

  for (const { path } of routes)
    it.effect(`A message to POST ${path} is sent once per Idempotency-Key, streamed or not`, () =>
      Effect.gen(function* () {
        const { withBehavior } = yield* AgentManagerTest
        const owner = yield* createOwnerWithAgent()
        const chat = () => Stream.fromIterable(whole)
        const post = (name: string, headers: Readonly<Record<string, string>>, message = "Tell!") =>
          withBehavior({ chat })(
            App.web({
              method: "POST",
              path,
              as: owner,
              json: { message },
              headers: { "idempotency-key": name, ...headers }
            })
          )
        const events = parseEvents(yield* post("streamed", streaming))
        assert.lengthOf(events, whole.length)
        assert.deepStrictEqual(parseEvents(yield* post("streamed", streaming)), events)
        assert.deepInclude((yield* post("streamed", {})).body, { reply })
        assert.strictEqual(yield* messagesOf(owner), 2)
        assert.strictEqual((yield* post("streamed", streaming, "Other")).status, 422)

        const first = yield* post("complete", {})
        const second = yield* post("complete", streaming)
        assert.deepStrictEqual([second.text, second.headers["idempotent-replayed"]], [first.text, "true"])
        assert.strictEqual(yield* messagesOf(owner), 4)
        assert.strictEqual(yield* usedBy(owner), 2)
      })
    )

  it.effect("A message with a key whose client disconnects is repeated from its first event, by any request", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const key = { "idempotency-key": "once" }
      const { client, finish, id } = yield* startAnswer(owner, 3, key)
      const before = countOpenStreams()
      const resumed = yield* Effect.forkDaemon(postMessage(owner, "/api/agent", { ...key, "last-event-id": `${id}:2` }))
      // Resuming does not wait for the first request, which holds the key.
      yield* eventually(Effect.sync(countOpenStreams), (count) => count === before + 1)
      const repeated = yield* Effect.forkDaemon(postMessage(owner, "/api/agent", key))
      yield* Fiber.interrupt(client)
      yield* finish
      const events = parseEvents(yield* Fiber.join(repeated))
      assert.deepStrictEqual(
        events.map(({ event, id: eventId }) => [event, eventId]),
        [...words.map(() => "delta"), "done"].map((event, index) => [event, `${id}:${index + 1}`])
      )
      assert.deepStrictEqual(parseEvents(yield* Fiber.join(resumed)), events.slice(2))
      assert.strictEqual(yield* messagesOf(owner), 2)
      assert.strictEqual(yield* usedBy(owner), 1)
    })
  )

  it.effect("A message with a key that failed is sent again by its repetition, and then no more", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* AgentManagerTest
      const owner = yield* createOwnerWithAgent()
      const key = { "idempotency-key": "once" }
      const failing = () => Stream.fail(new TurnFailed({ reason: "the model said no" }))
      const failed = parseEvents(yield* withBehavior({ chat: failing })(postMessage(owner, "/api/agent", key)))
      assert.deepStrictEqual(
        failed.map(({ event }) => event),
        ["error"]
      )
      const chat = () => Stream.fromIterable(whole)
      const events = parseEvents(yield* withBehavior({ chat })(postMessage(owner, "/api/agent", key)))
      assert.deepInclude(events.at(-1)?.data, { reply })
      const sent = yield* messagesOf(owner)
      assert.deepStrictEqual(parseEvents(yield* postMessage(owner, "/api/agent", key)), events)
      assert.strictEqual(yield* messagesOf(owner), sent)
    })
  )

  it.effect("A resumed stream of GET has the same events behind any event, and is 204 behind the end", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { events, id } = yield* streamWholeAnswer(owner, "/api/agent")
      assert.deepStrictEqual(parseEvents(yield* follow(owner, id)), events)
      assert.deepStrictEqual(parseEvents(yield* follow(owner, id, `${id}:4`)), events.slice(4))
      const over = yield* follow(owner, id, events.at(-1)?.id)
      assert.deepStrictEqual([over.status, over.text], [204, ""])
      for (const wrong of ["4", `${id}:x`, "msg_other:1"]) {
        const answer = yield* follow(owner, id, wrong)
        assert.deepStrictEqual([answer.status, answer.body["code"]], [400, "last_event_id_invalid"], wrong)
      }
    })
  )

  it.effect("A resumed stream continues an answer in progress for any number of readers", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { client, finish, id } = yield* startAnswer(owner)
      const listeners = yield* Effect.forEach([0, 1, 2, 3], (after) =>
        Effect.forkDaemon(postMessage(owner, "/api/agent", { "last-event-id": `${id}:${after}` }))
      )
      yield* Fiber.interrupt(client)
      yield* finish
      const received = (yield* Effect.forEach(listeners, Fiber.join)).map(parseEvents)
      const [everything = []] = received
      assert.deepStrictEqual(
        everything.slice(0, -1).map(({ data }) => data),
        words.map((text) => ({ text }))
      )
      assert.deepInclude(everything.at(-1)?.data, { reply })
      for (const [after, events] of received.entries()) assert.deepStrictEqual(events, everything.slice(after))
      assert.strictEqual(yield* usedBy(owner), 1)
    })
  )

  it.effect("A resumed stream has only `done` with the whole reply when the retention period is over", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { events, id } = yield* streamWholeAnswer(owner, "/api/agent")
      yield* (yield* AnswerStreams).prune(DateTime.add(yield* DateTime.now, { hours: 1 }))
      for (const after of [0, 2]) {
        const rest = parseEvents(yield* postMessage(owner, "/api/agent", { "last-event-id": `${id}:${after}` }))
        assert.deepStrictEqual(rest, events.slice(-1))
      }
      assert.strictEqual((yield* follow(owner, id, events.at(-1)?.id)).status, 204)
    })
  )

  it.effect("A resumed stream has the reply of a message that was not streamed", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { body } = yield* App.web({ method: "POST", path: "/api/chat", as: owner, json: { message: "hello" } })
      const id = String(body["id"])
      const [only, ...more] = parseEvents(yield* follow(owner, id))
      // Numbered after the earlier deltas, which no reader could have received.
      assert.deepStrictEqual([only?.event, only?.id, more], ["done", `${id}:3`, []])
      assert.deepInclude(only?.data, { reply: "Echo: hello" })
    })
  )

  it.effect("A resumed stream ends with the same `error` as the first when the answer fails", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* AgentManagerTest
      const owner = yield* createOwnerWithAgent()
      yield* sql`update instances set desired = 'up' where owner_id = ${owner.user.id}`
      const failing = Stream.concat(
        Stream.fromIterable(pieces.slice(0, 2)),
        Stream.fail(new TurnFailed({ reason: "the model said no" }))
      )
      const events = parseEvents(yield* withBehavior({ chat: () => failing })(postMessage(owner, "/api/agent")))
      assert.deepStrictEqual(
        events.map(({ event }) => event),
        ["delta", "delta", "error"]
      )
      assert.deepInclude(events[2]?.data, { code: "message_unanswered" })
      const id = messageIdOf(events[0])
      for (const after of [0, 1, 2])
        assert.deepStrictEqual(
          parseEvents(yield* follow(owner, id, `${id}:${after}`)).map(withoutTraceId),
          events.slice(after).map(withoutTraceId)
        )
      assert.strictEqual((yield* follow(owner, id, `${id}:3`)).status, 204)
      assert.strictEqual(yield* usedBy(owner), 0)
    })
  )

  it.effect(
    "A resumed stream ends with `error` when the message of a dead process is marked failed, and is 204 behind it",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { markFailed } = yield* ConversationRepository
        const { client, finish, id } = yield* startAnswer(owner)
        const listener = yield* Effect.forkDaemon(follow(owner, id, `${id}:3`))
        yield* markFailed(id)
        const [only, ...more] = parseEvents(yield* Fiber.join(listener))
        assert.deepStrictEqual([only?.event, more], ["error", []])
        assert.deepInclude(only?.data, { code: "message_unanswered" })
        assert.strictEqual((yield* follow(owner, id, only?.id)).status, 204)
        yield* finish
        yield* Fiber.join(client)
      })
  )

  it.effect.each(["conversation", "agent"])(
    "A resumed stream ends with `error` when its %s is deleted, and its unit is settled",
    (deleted) =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { removeSessions } = yield* ConversationRepository
        const { client, finish, id } = yield* startAnswer(owner)
        const listener = yield* Effect.forkDaemon(follow(owner, id))
        if (deleted === "conversation") yield* removeSessions(owner.user.id)
        else {
          const path = `/api/agents/provision/${owner.agent.id}`
          assert.strictEqual((yield* App.web({ method: "DELETE", path, as: owner })).status, 200)
        }
        yield* finish
        assert.strictEqual(parseEvents(yield* Fiber.join(client)).at(-1)?.event, "error")
        // A reader from before the deletion receives an error event; a later one is 404.
        const received = yield* Fiber.join(listener)
        assert.include(["error", undefined], parseEvents(received).at(-1)?.event)
        assert.include([200, 404], received.status)
        const [row] = yield* sql`
        select state, settled_daily_units::int as booked from reservations where user_id = ${owner.user.id}`
        assert.deepStrictEqual(row, { state: "settled", booked: 1 })
        assert.strictEqual(yield* usedBy(owner), 1)
        assert.strictEqual((yield* follow(owner, id)).status, 404)
        const logged = (yield* (yield* App.TestApp).logLines).filter((line) => line.includes(id))
        assert.isTrue(logged.some((line) => line.includes("Message canceled")))
        assert.notInclude(logged.join("\n"), '"logLevel":"ERROR"')
      })
  )

  it.effect("A resumed stream of a ninth answer at a time is 429 with Retry-After until another one ends", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { next } = yield* IdGenerator
      const pending = Effect.gen(function* () {
        const id = MessageId.make(yield* next("msg"))
        yield* sql`
          insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
          select ${id}, ${owner.conversation}, ${owner.user.id}, ${owner.agent.id},
            coalesce(max(seq), 0) + 2, 'user', 'hello', 'web', 'pending', now()
          from messages where session_id = ${owner.conversation}`
        return id
      })
      const ended = yield* streamWholeAnswer(owner, "/api/agent")
      const ids = yield* Effect.replicateEffect(pending, 9)
      const [first = MessageId.make(""), ninth = MessageId.make("")] = [ids[0], ids[8]]
      // The probe below briefly takes a place, so that a stream can be rejected once.
      const streams = yield* Effect.forEach(ids.slice(0, 8), (id) =>
        Effect.forkDaemon(Effect.repeat(follow(owner, id), { while: ({ status }) => status === 429 }))
      )
      yield* eventually(follow(owner, ended.id, ended.events.at(-1)?.id), ({ status }) => status === 429)
      const refused = yield* follow(owner, ninth, `${ninth}:0`)
      assertError(refused, { status: 429, code: "resumed_answer_limit_reached" })
      assert.deepInclude(refused.body, { limit: 8, retryAfter: 2 })
      assert.strictEqual(refused.headers["retry-after"], "2")
      for (const path of ["/api/agent", "/api/chat"])
        assert.strictEqual((yield* postMessage(owner, path, { "last-event-id": `${ninth}:0` })).status, 429)
      assert.strictEqual((yield* follow(owner, "msg_none")).status, 404)
      // A further reader of a resumed answer, and a message of the reader, take no place.
      const again = yield* Effect.forkDaemon(follow(owner, first))
      const other = yield* App.web({
        method: "POST",
        path: "/api/agent",
        as: owner,
        json: { action: "create-session" }
      })
      const sessionId = String(other.body["sessionId"])
      const sent = yield* App.web({ method: "POST", path: "/api/agent", as: owner, json: { message: "hi", sessionId } })
      assert.strictEqual(sent.status, 200)
      yield* sql`update messages set state = 'failed' where id = ${first}`
      for (const fiber of [...streams.slice(0, 1), again]) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
      yield* eventually(follow(owner, ended.id, ended.events.at(-1)?.id), ({ status }) => status === 204)
      yield* sql`update messages set state = 'failed' where session_id = ${owner.conversation} and state = 'pending'`
      assert.strictEqual((yield* follow(owner, ninth)).status, 200)
      for (const fiber of streams) yield* Fiber.join(fiber)
    })
  )

  it.effect("A resumed stream has a reservation that is never released as stale while its message is pending", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { closeAbandoned } = yield* UnitLedger
      const { client, finish } = yield* startAnswer(owner)
      const muchLater = DateTime.add(yield* DateTime.now, { hours: 5 })
      yield* closeAbandoned(muchLater)
      assert.strictEqual(yield* usedBy(owner), 1)
      yield* finish
      yield* Fiber.join(client)
      assert.deepStrictEqual(yield* sql`select state from reservations where user_id = ${owner.user.id}`, [
        { state: "settled" }
      ])
    })
  )

  it.effect("A stopped answer ends its model call, stores its text so far at its price, and ends every stream", () =>
    Effect.gen(function* () {
      const [manager, models] = [yield* AgentManagerTest, yield* ModelProvidersTest]
      const owner = yield* createOwnerWithAgent()
      const call = yield* makeRuntimeCalls(owner)
      const [requested, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const running = { id: "0.0", name: "calculate", arguments: "{}", status: "running", result: null } as const
      const began: ReadonlyArray<TurnEvent> = [...pieces.slice(0, 2), { type: "tool", call: running }]
      const client = yield* postMessage(owner, "/api/agent").pipe(
        manager.withBehavior({
          chat: (_, turn) =>
            Stream.concat(Stream.fromIterable(began), Stream.execute(call(turn, { model: platformModel })))
        }),
        models.withBehavior({
          chat: () =>
            Stream.execute(Deferred.succeed(requested, undefined)).pipe(
              Stream.concat(Stream.never),
              Stream.ensuring(Deferred.succeed(ended, undefined))
            )
        }),
        Effect.forkDaemon
      )
      yield* Deferred.await(requested)
      const [row] = yield* eventually(
        sql<{ messageId: string }>`
          select message_id from answer_events join messages on messages.id = message_id
          where user_id = ${owner.user.id} group by 1 having sum(answer_events.delta_count) = 3`,
        (rows) => rows.length === 1
      )
      const id = row?.messageId ?? ""
      const follower = yield* Effect.forkDaemon(follow(owner, id))
      assert.deepStrictEqual((yield* stop(owner, id)).body, { messageId: id, status: "pending" })
      yield* Deferred.await(ended)
      const events = parseEvents(yield* Fiber.join(client))
      assert.deepStrictEqual(
        events.map(({ event }) => event),
        ["delta", "delta", "tool", "done"]
      )
      assert.deepInclude(events.at(-1)?.data, { reply: "Once upon ", stopped: true, units: 1 })
      assert.deepStrictEqual(parseEvents(yield* Fiber.join(follower)), events)
      assert.deepStrictEqual((yield* stop(owner, id)).body, { messageId: id, status: "answered" })
      const record = yield* App.web({
        method: "GET",
        path: `/api/agent?action=session&sessionId=${owner.conversation}`,
        as: owner
      })
      assert.nestedInclude(record.body, {
        "session.messages[1].content": "Once upon ",
        "session.messages[1].stopped": true,
        "session.messages[1].units": 1,
        "session.messages[1].model": null,
        "session.messages[1].toolCalls[0].status": "failed"
      })
      assert.strictEqual(yield* usedBy(owner), 1)
      assert.deepStrictEqual(yield* sql`select state from reservations where user_id = ${owner.user.id}`, [
        { state: "settled" }
      ])
    })
  )

  it.effect("An answer keeps a bounded number of tool calls with bounded texts, whatever its runtime reports", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* AgentManagerTest
      const owner = yield* createOwnerWithAgent()
      const long = "x".repeat(5_000)
      const calls = Array.from({ length: 300 }, (_, n): TurnEvent => ({
        type: "tool",
        call: { id: `${n}${long}`, name: long, arguments: long, status: "succeeded", result: long }
      }))
      yield* withBehavior({ chat: () => Stream.fromIterable([...calls, ...whole]) })(postMessage(owner, "/api/agent"))
      const [kept] = yield* sql`
        select count(*)::int as calls, max(length(call ->> 'id')) as id, max(length(call ->> 'name')) as name,
          max(length(call ->> 'arguments')) as arguments, max(length(call ->> 'result')) as result
        from messages, jsonb_array_elements(tool_calls) as call where user_id = ${owner.user.id}`
      assert.deepStrictEqual(kept, { calls: 256, id: 200, name: 200, arguments: 4_001, result: 4_001 })
    })
  )

  it.effect("A stop that another process received ends the answer, and one before its first text is free", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { requestStop } = yield* TurnRepository
      const { client, id } = yield* startAnswer(owner)
      const waiting = yield* Effect.forkDaemon(postMessage(owner, "/api/agent"))
      const [second] = yield* eventually(
        sql<{ id: string }>`
          select id from messages where user_id = ${owner.user.id} and state = 'pending' and id <> ${id}`,
        (rows) => rows.length === 1
      )
      yield* stop(owner, second?.id ?? "")
      const [only, ...more] = parseEvents(yield* Fiber.join(waiting))
      assert.deepStrictEqual([only?.event, more], ["error", []])
      yield* requestStop([id])
      assert.deepInclude(parseEvents(yield* Fiber.join(client)).at(-1)?.data, { reply: "Once upon a ", stopped: true })
      assert.strictEqual(yield* usedBy(owner), 1)
      assert.deepStrictEqual(yield* sql`select state, is_stopped from messages where id = ${second?.id ?? ""}`, [
        { state: "failed", isStopped: true }
      ])
    })
  )

  it.effect("A conversation is renamed and deleted, which ends its answer in progress at its price", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const path = `/api/agent/sessions/${owner.conversation}`
      const rename = (title: string) => App.web({ method: "PATCH", path, as: owner, json: { title } })
      assert.nestedInclude((yield* rename(" Letters ")).body, { "session.title": "Letters" })
      assert.notNestedProperty((yield* rename(" ")).body, "session.title")
      const { client } = yield* startAnswer(owner)
      assert.strictEqual((yield* App.web({ method: "DELETE", path, as: owner })).status, 204)
      assert.strictEqual(parseEvents(yield* Fiber.join(client)).at(-1)?.event, "error")
      assert.strictEqual(yield* messagesOf(owner), 0)
      assert.deepStrictEqual(yield* sql`select id from turns where user_id = ${owner.user.id}`, [])
      assert.deepStrictEqual(yield* sql`select state from reservations where user_id = ${owner.user.id}`, [
        { state: "settled" }
      ])
      assert.strictEqual((yield* App.web({ method: "DELETE", path, as: owner })).status, 404)
    })
  )

  it.effect("A resumed stream is 404 for another user's message and for a reply", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const { id } = yield* streamWholeAnswer(owner, "/api/agent")
      const [reply] = yield* (yield* ConversationRepository).listByUser(owner.user.id, 1)
      assert.strictEqual(reply?.sender, "agent")
      for (const [who, messageId] of [
        [stranger, id],
        [owner, reply?.id ?? id]
      ] as const)
        for (const answer of [
          yield* postMessage(who, "/api/agent", { "last-event-id": `${messageId}:1` }),
          yield* postMessage(who, "/api/chat", { "last-event-id": `${messageId}:1` }),
          yield* follow(who, messageId)
        ])
          assert.deepStrictEqual([answer.status, answer.body["code"]], [404, "message_not_found"])
      assert.strictEqual(yield* messagesOf(stranger), 0)
    })
  )

  it.effect("A resumed stream requires `Accept: text/event-stream`; without it the message is sent", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { id } = yield* streamWholeAnswer(owner, "/api/agent")
      const answer = yield* postMessage(owner, "/api/agent", { accept: "application/json", "last-event-id": `${id}:1` })
      assert.strictEqual(answer.body["reply"], "Echo: Tell!")
    })
  )
})
