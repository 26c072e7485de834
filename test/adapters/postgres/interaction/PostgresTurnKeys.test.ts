import type { Agent } from "@berth/domain/agents/Agent"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { ChatSessionId, type Message, MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { TurnKeys } from "@berth/domain/interaction/conversations/TurnKeys"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresConversationRepository from "@berth/infra/postgres/interaction/PostgresConversationRepository"
import * as PostgresTurnKeys from "@berth/infra/postgres/interaction/PostgresTurnKeys"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Array, DateTime, Effect, FastCheck, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../../../support/Samples.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.mergeAll(
  PostgresTurnKeys.layer,
  PostgresConversationRepository.layer,
  PostgresAgentRepository.layer,
  PostgresUserRepository.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const newMessageId = Effect.flatMap(IdGenerator, ({ next }) => Effect.map(next("msg"), (id) => MessageId.make(id)))

/** A message that waits for its answer, in a conversation of its own. */
const ask = (agent: Agent) =>
  Effect.gen(function* () {
    const { appendUserMessage, insertSession } = yield* ConversationRepository
    const now = yield* DateTime.now
    const sessionId = ChatSessionId.make(yield* (yield* IdGenerator).next("chs"))
    yield* insertSession({
      id: sessionId,
      userId: agent.ownerId,
      agentId: agent.id,
      status: "active",
      messageCount: 0,
      createdAt: now,
      lastActivity: now
    })
    const message = { id: yield* newMessageId, sessionId, content: "hello", topic: null, platform: "web" }
    return yield* appendUserMessage(message, DateTime.add(now, { minutes: 1 }), Option.none())
  })

/** Answers it, and tells whether all its calls went by its owner's own keys. */
const byOwnKeys = (message: Message) =>
  Effect.gen(function* () {
    const { storeReply } = yield* ConversationRepository
    const stored = yield* storeReply(message, { id: yield* newMessageId, content: "hi" })
    return Option.getOrThrow(stored).ownKeys
  })

const turnOf = ({ agentId, id, userId }: Message) => ({ agentId, userId, turnId: id })
const taskOf = (agent: Agent) =>
  Effect.map(newMessageId, (turnId) => ({ agentId: agent.id, userId: agent.ownerId, turnId }))

const agents = (count: number) =>
  Effect.flatMap(insertUser(), ({ id }) => Effect.replicateEffect(insertAgent(id), count))

const one = Effect.map(agents(1), ([agent]) => Option.getOrThrow(Option.fromNullable(agent)))

layer(Live, { excludeTestServices: true })("TurnKeys", (it) => {
  it.effect("a turn is by own keys when some call was made, and all of them went by these", () =>
    Effect.gen(function* () {
      const { recordCall } = yield* TurnKeys
      const agent = yield* one
      const judged = (...calls: ReadonlyArray<boolean>) =>
        Effect.gen(function* () {
          const message = yield* ask(agent)
          for (const ownKey of calls) yield* recordCall({ ...turnOf(message), ownKey })
          return yield* byOwnKeys(message)
        })
      assert.isFalse(yield* judged())
      assert.isTrue(yield* judged(true))
      assert.isTrue(yield* judged(true, true, true))
      assert.isFalse(yield* judged(false))
      assert.isFalse(yield* judged(true, false))
      assert.isFalse(yield* judged(false, true))
    })
  )

  it.effect("a task is judged like a message, once, and by its owner's name alone", () =>
    Effect.gen(function* () {
      const { begin, end, recordCall } = yield* TurnKeys
      const [agent, stranger] = [yield* one, yield* one]
      const judged = (...calls: ReadonlyArray<boolean>) =>
        Effect.gen(function* () {
          const task = yield* taskOf(agent)
          yield* begin(task)
          for (const ownKey of calls) yield* recordCall({ ...task, ownKey })
          assert.isFalse(yield* end({ ...task, userId: stranger.ownerId }))
          const result = yield* end(task)
          assert.isFalse(yield* end(task))
          return result
        })
      assert.isFalse(yield* judged())
      assert.isTrue(yield* judged(true, true))
      assert.isFalse(yield* judged(true, false, true))
      const foreign = { ...(yield* taskOf(stranger)), userId: agent.ownerId }
      yield* begin(foreign)
      yield* recordCall({ ...foreign, ownKey: true })
      assert.isFalse(yield* end(foreign))
    })
  )

  it.effect("agents of one owner, and owners, work side by side without paying for each other", () =>
    Effect.gen(function* () {
      const { begin, end, recordCall } = yield* TurnKeys
      const [own, paid] = yield* agents(2)
      const stranger = yield* one
      const [mine, theirs] = [own ?? stranger, paid ?? stranger]
      const messages = yield* Effect.forEach([mine, theirs, stranger], ask)
      const task = yield* taskOf(mine)
      yield* begin(task)
      const [byOwn, byPlatform, elsewhere] = messages
      if (byOwn === undefined || byPlatform === undefined || elsewhere === undefined) return assert.fail()
      yield* recordCall({ ...turnOf(byOwn), ownKey: true })
      yield* recordCall({ ...task, ownKey: true })
      yield* recordCall({ ...turnOf(elsewhere), ownKey: true })
      yield* recordCall({ ...turnOf(byPlatform), ownKey: false })
      assert.deepStrictEqual(yield* Effect.forEach(messages, byOwnKeys), [true, false, true])
      assert.isTrue(yield* end(task))
    })
  )

  it.effect("a platform's call under another turn's name counts against every turn that it may be for", () =>
    Effect.gen(function* () {
      const { begin, end, recordCall } = yield* TurnKeys
      const [agent, idle] = yield* agents(2)
      if (agent === undefined || idle === undefined) return assert.fail()
      for (const lie of [
        // Another turn of the same agent, one that is over, one of nobody's, and one of an agent that does nothing.
        Effect.map(ask(agent), turnOf),
        Effect.tap(Effect.map(ask(agent), turnOf), ({ turnId }) =>
          Effect.flatMap(ConversationRepository, ({ markFailed }) => markFailed(MessageId.make(turnId)))
        ),
        taskOf(agent),
        taskOf(idle),
        Effect.map(taskOf(agent), (task) => ({ ...task, turnId: "\u0000' or true" }))
      ]) {
        const [message, task] = [yield* ask(agent), yield* taskOf(agent)]
        yield* begin(task)
        yield* recordCall({ ...turnOf(message), ownKey: true })
        yield* recordCall({ ...task, ownKey: true })
        yield* recordCall({ ...(yield* lie), ownKey: false })
        // What came to be in work only then has nothing to do with it.
        const later = yield* ask(agent)
        yield* recordCall({ ...turnOf(later), ownKey: true })
        assert.deepStrictEqual(yield* Effect.forEach([message, later], byOwnKeys), [false, true])
        assert.isFalse(yield* end(task))
      }
    })
  )

  it.effect("an own key's call counts for the turn it names, if that is the owner's and in work", () =>
    Effect.gen(function* () {
      const { recordCall } = yield* TurnKeys
      const [agent, other] = yield* agents(2)
      const stranger = yield* one
      if (agent === undefined || other === undefined) return assert.fail()
      const message = yield* ask(agent)
      yield* recordCall({ ...turnOf(message), userId: stranger.ownerId, ownKey: true })
      yield* recordCall({ ...turnOf(message), agentId: other.id, ownKey: true })
      yield* recordCall({ ...(yield* taskOf(agent)), ownKey: true })
      assert.isFalse(yield* byOwnKeys(message))
    })
  )

  const said = FastCheck.record({ name: FastCheck.nat(5), turn: FastCheck.nat(5), ownKey: FastCheck.boolean() })
  it.effect.prop(
    "whatever a cell says, a call that the platform pays is paid by a turn in work",
    [FastCheck.array(said, { minLength: 1, maxLength: 8 })],
    ([calls]) =>
      Effect.gen(function* () {
        const { begin, end, recordCall } = yield* TurnKeys
        const owned = yield* agents(3)
        const [first, second] = owned
        if (first === undefined || second === undefined) return assert.fail()
        const messages = yield* Effect.forEach([first, first, second], ask)
        const task = yield* taskOf(second)
        yield* begin(task)
        const turns = [...messages.map(turnOf), task]
        yield* Effect.forEach(turns, (turn) => recordCall({ ...turn, ownKey: true }))
        yield* Effect.forEach(calls, ({ name, ownKey, turn }) =>
          recordCall({
            userId: first.ownerId,
            agentId: (owned[name % 3] ?? first).id,
            turnId: turns[turn]?.turnId ?? "none",
            ownKey
          })
        )
        const free = [...(yield* Effect.forEach(messages, byOwnKeys)), yield* end(task)]
        if (calls.some(({ ownKey }) => !ownKey)) assert.include(free, false)
        else assert.notInclude(free, false)
      }),
    { fastCheck: { numRuns: 15 } }
  )

  it.effect("calls at the same time do not get into each other's way", () =>
    Effect.gen(function* () {
      const { begin, end, recordCall } = yield* TurnKeys
      const agent = yield* one
      const messages = yield* Effect.replicateEffect(ask(agent), 4)
      const task = yield* taskOf(agent)
      yield* begin(task)
      yield* Effect.forEach(
        Array.range(1, 40),
        (n) =>
          recordCall({
            ...(n % 5 === 0 ? task : turnOf(messages[n % 4] ?? Option.getOrThrow(Option.none()))),
            ownKey: n % 2 === 0
          }),
        { concurrency: "unbounded", discard: true }
      )
      assert.deepStrictEqual(yield* Effect.forEach(messages, byOwnKeys, { concurrency: "unbounded" }), [
        false,
        false,
        false,
        false
      ])
      assert.isFalse(yield* end(task))
    })
  )

  it.effect("tasks that a process has left behind are forgotten, and go with their agent", () =>
    Effect.gen(function* () {
      const { begin, end } = yield* TurnKeys
      const sql = yield* SqlClient
      const agent = yield* one
      const [old, recent, next] = yield* Effect.replicateEffect(taskOf(agent), 3)
      if (old === undefined || recent === undefined || next === undefined) return assert.fail()
      yield* begin(old)
      yield* begin(recent)
      yield* sql`update agent_tasks set created_at = created_at - interval '25 hours' where id = ${old.turnId}`
      yield* begin(next)
      const left = sql`select id from agent_tasks where user_id = ${agent.ownerId} order by id`
      assert.deepStrictEqual(
        (yield* left).map(({ id }) => id),
        [recent.turnId, next.turnId]
      )
      yield* sql`delete from agents where id = ${agent.id}`
      assert.deepStrictEqual(yield* left, [])
      assert.isFalse(yield* end(next))
    })
  )
})
