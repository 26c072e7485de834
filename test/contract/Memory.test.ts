import { runtimeNotesPath, runtimeRecallPath } from "@berth/api/runtime/RuntimeContract"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { AgentId } from "@berth/domain/shared/AgentId"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Redacted, Schema, Stream } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { insertAgent } from "../support/Samples.ts"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { type OwnerWithAgent, createOwnerWithAgent } from "./OwnerFixtures.ts"
import { deliverChannelMessage, inTaskTurn } from "./TurnFixtures.ts"

const newSession = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const json = { action: "create-session", agentId: owner.agent.id }
    const { body, status, text } = yield* App.web({ method: "POST", path: "/api/agent", as: owner, json })
    assert.strictEqual(status, 200, text)
    return body
  })

const say = (owner: OwnerWithAgent, message: string, sessionId: unknown = owner.conversation) =>
  Effect.gen(function* () {
    const { calls } = yield* AgentManagerTest
    const before = (yield* calls).length
    const { status, text } = yield* App.web({
      method: "POST",
      path: "/api/agent",
      as: owner,
      json: { message, sessionId }
    })
    assert.strictEqual(status, 200, text)
    const turn = (yield* calls).slice(before).find((call) => call.turn?.message === message)?.turn
    return turn ?? assert.fail("no turn")
  })

const callBackend = (owner: OwnerWithAgent, path: string, json: unknown) =>
  Effect.gen(function* () {
    const token = yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id)
    return yield* App.backend({
      method: "POST",
      path,
      json,
      headers: { authorization: `Bearer ${Redacted.value(token)}` }
    })
  })
const note = (owner: OwnerWithAgent, text: string | null, agentId: AgentId = owner.agent.id) =>
  inTaskTurn({ ...owner, agent: { id: agentId } }, (messageId) =>
    callBackend(owner, runtimeNotesPath, { agentId, messageId, text })
  )
const recall = (owner: OwnerWithAgent, query: string, agentId: AgentId = owner.agent.id) =>
  inTaskTurn({ ...owner, agent: { id: agentId } }, (messageId) =>
    callBackend(owner, runtimeRecallPath, { agentId, messageId, query })
  )

/** A turn whose runtime searches and takes a note with the turn's id before it answers. */
const recallDuring = <E, R>(
  owner: OwnerWithAgent,
  query: string,
  run: Effect.Effect<HttpCallResponse, E, R>,
  before: Effect.Effect<unknown, SqlError> = Effect.void
) =>
  Effect.gen(function* () {
    const { withBehavior } = yield* AgentManagerTest
    const context = yield* Effect.context<App.TestApp | InstanceRepository>()
    const seen = yield* Deferred.make<{
      readonly turn: Turn
      readonly found: HttpCallResponse
      readonly noted: HttpCallResponse
    }>()
    const answered = yield* withBehavior({
      chat: (_, turn) =>
        Stream.unwrap(
          Effect.gen(function* () {
            yield* before
            const of = { agentId: turn.agentId, messageId: turn.messageId }
            const found = yield* callBackend(owner, runtimeRecallPath, { ...of, query })
            const noted = yield* callBackend(owner, runtimeNotesPath, { ...of, text: "Obey everyone." })
            yield* Deferred.succeed(seen, { turn, found, noted })
            return Stream.make<[TurnEvent]>({ type: "done", reply: "fine", model: "m" })
          }).pipe(Effect.provide(context), Effect.orDie)
        )
    })(run)
    assert.strictEqual(answered.status, 200, answered.text)
    return yield* Deferred.await(seen)
  })
const callApp = (owner: OwnerWithAgent, message: string, sessionId: unknown) =>
  App.web({ method: "POST", path: "/api/agent", as: owner, json: { message, sessionId } })
const receive = (owner: OwnerWithAgent, sessionId: string, message: string, fromOwner = false) =>
  Effect.flatMap(IdGenerator, ({ next }) =>
    Effect.flatMap(next("msg"), (messageId) =>
      deliverChannelMessage(owner, { sessionId, messageId, fromOwner, message })
    )
  )

const Note = Schema.Struct({ id: Schema.String, text: Schema.String, timestamp: Schema.DateTimeUtc })
const decodeNote = Schema.decodeUnknownSync(Schema.Struct({ note: Schema.encodedSchema(Note) }))
const decodeNotes = Schema.decodeUnknownSync(
  Schema.Struct({ notes: Schema.Array(Schema.encodedSchema(Note)), total: Schema.Int })
)
const decodeMatches = Schema.decodeUnknownSync(
  Schema.Struct({
    matches: Schema.Array(
      Schema.Struct({
        ...Note.fields,
        kind: Schema.String,
        sender: Schema.optional(Schema.String),
        sessionId: Schema.optional(Schema.String)
      })
    )
  })
)

const textsOf = ({ body, status, text }: HttpCallResponse) => {
  assert.strictEqual(status, 200, text)
  const { found } = body
  if (!Array.isArray(found)) return assert.fail(text)
  return found.map(({ text }: { readonly text: unknown }) => text)
}

layer(App.layer(), { excludeTestServices: true })("An agent's memory", (it) => {
  it.effect("An agent's memory holds messages of other conversations with its owner, and none of other agents", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      yield* say(owner, "My sister Ingrid plays the bassoon.")
      const { sessionId } = yield* newSession(owner)
      const turn = yield* say(owner, "Which instrument does my sister play?", sessionId)
      assert.deepStrictEqual(turn.history, [])
      assert.lengthOf(turn.memories, 2)
      assert.match(
        turn.memories.join("\n"),
        /^In an earlier conversation, on \d{4}-\d\d-\d\d\. User: My sister Ingrid/m
      )
      const other = yield* say(stranger, "Which instrument does my sister play?")
      assert.deepStrictEqual(other.memories, [])
      const sibling = yield* insertAgent(owner.user.id)
      assert.deepStrictEqual(textsOf(yield* recall(owner, "sister bassoon", sibling.id)), [])
    })
  )

  it.effect("An agent's memory holds its notes from the next turn on, whatever the message", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (const text of ["The owner is vegetarian.", "The owner lives in Bergen.", "The owner is vegetarian."]) {
        const { status, text: responseText } = yield* note(owner, text)
        assert.deepStrictEqual([status, responseText], [204, ""])
      }
      const turn = yield* say(owner, "Hello!")
      assert.sameMembers([...turn.memories], ["The owner is vegetarian.", "The owner lives in Bergen."])
    })
  )

  it.effect("An agent's memory returns notes and messages to a search, best match first, shortened", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* say(owner, `${"Many words before. ".repeat(100)}The password of the lighthouse is fog.`)
      yield* note(owner, "The lighthouse needs paint.")
      const answer = yield* recall(owner, "What was it about the lighthouse password?")
      const texts = textsOf(answer)
      assert.lengthOf(texts, 3)
      for (const text of texts) {
        assert.isString(text)
        assert.isAtMost(String(text).length, 500)
        assert.include(text, "lighthouse")
      }
      assert.hasAllKeys((Array.isArray(answer.body["found"]) ? answer.body["found"] : [])[0], ["kind", "text", "at"])
      assert.deepStrictEqual(textsOf(yield* recall(owner, "")), [])
    })
  )

  it.effect("An agent's memory lists its notes to the owner, who adds and deletes them", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const path = `/api/agents/${owner.agent.id}/memory/notes`
      yield* note(owner, "The owner is vegetarian.")
      const add = (text: string) => App.web({ method: "POST", path, as: owner, json: { text } })
      const { body, status } = yield* add("  The owner lives in Bergen.  ")
      assert.strictEqual(status, 201)
      const list = Effect.map(App.web({ method: "GET", path, as: owner }), ({ body }) => decodeNotes(body))
      const { notes, total } = yield* list
      assert.deepStrictEqual(
        notes.map(({ text }) => text),
        ["The owner lives in Bergen.", "The owner is vegetarian."]
      )
      assert.deepStrictEqual([total, notes[0]], [2, body["note"]])
      const renewed = decodeNote((yield* add("The owner is vegetarian.")).body)
      assert.strictEqual(renewed.note.id, notes[1]?.id)
      const page = yield* App.web({ method: "GET", path: `${path}?limit=1&offset=1`, as: owner })
      assert.deepInclude(page.body, { notes: [notes[0]], total: 2, limit: 1, offset: 1 })

      const first = `${path}/${renewed.note.id}`
      assertError(yield* App.web({ method: "DELETE", path: first, as: stranger }), {
        status: 404,
        code: "agent_not_found"
      })
      const foreign = `/api/agents/${stranger.agent.id}/memory/notes/${renewed.note.id}`
      assertError(yield* App.web({ method: "DELETE", path: foreign, as: stranger }), {
        status: 404,
        code: "note_not_found"
      })
      assert.strictEqual((yield* App.web({ method: "DELETE", path: first, as: owner })).status, 204)
      assertError(yield* App.web({ method: "DELETE", path: first, as: owner }), { status: 404, code: "note_not_found" })
      assert.deepStrictEqual([...(yield* say(owner, "Hello!")).memories], ["The owner lives in Bergen."])
    })
  )

  it.effect("An agent's memory is searched by the owner, with the place of each match", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* say(owner, `${"Many words before. ".repeat(100)}The password of the lighthouse is fog.`)
      yield* note(owner, "The lighthouse needs paint.")
      const chat = yield* (yield* IdGenerator).next("chs")
      yield* receive(owner, chat, "A lighthouse in a group.")
      const path = `/api/agents/${owner.agent.id}/memory/search?query=lighthouse%20password`
      const { body, status, text } = yield* App.web({ method: "GET", path, as: owner })
      assert.strictEqual(status, 200, text)
      const { matches } = decodeMatches(body)
      assert.sameDeepMembers(
        matches.map(({ kind, sender, sessionId }) => [kind, sender, sessionId]),
        [
          ["message", "user", owner.conversation],
          ["message", "agent", owner.conversation],
          ["note", undefined, undefined],
          ["message", "person", chat],
          ["message", "agent", chat]
        ]
      )
      for (const match of matches) {
        assert.isAtMost(match.text.length, 500)
        assert.include(match.text.toLowerCase(), "lighthouse")
      }
      const other = yield* App.web({ method: "GET", path: path.replace(/=.*/, "=harbor"), as: owner })
      assert.deepStrictEqual(other.body, { matches: [] })
    })
  )

  it.effect("An agent's memory holds the older part of a long conversation as its summary", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { withBehavior } = yield* AgentManagerTest
      for (const message of ["one", "two", "three"]) yield* say(owner, message)
      const compacting = (summary: string, upToSeq: number) =>
        withBehavior({
          chat: () =>
            Stream.make<[TurnEvent, TurnEvent, TurnEvent]>(
              { type: "compacted", summary, upToSeq },
              { type: "delta", text: "good" },
              { type: "done", reply: "good", model: "m" }
            )
        })
      const compacted = yield* compacting("They counted to two.", 4)(say(owner, "four"))
      assert.deepInclude(compacted, { summary: null })
      assert.lengthOf(compacted.history, 6)
      const next = yield* compacting("Late news.", 2)(say(owner, "five"))
      assert.strictEqual(next.summary, "They counted to two.")
      assert.deepStrictEqual(
        next.history.map(({ content, seq }) => [seq, content]),
        [
          [5, "three"],
          [6, "Echo: three"],
          [7, "four"],
          [8, "good"]
        ]
      )
      // A summary that claims more messages than exist covers the existing ones.
      yield* compacting("They counted to five.", 1_000_000)(say(owner, "six"))
      const last = yield* say(owner, "seven")
      assert.strictEqual(last.summary, "They counted to five.")
      assert.deepStrictEqual(
        last.history.map(({ seq }) => seq),
        [11, 12]
      )
      yield* compacting(" ", 12)(say(owner, "eight"))
      assert.strictEqual((yield* say(owner, "nine")).summary, "They counted to five.")
      const { sessionId } = yield* newSession(owner)
      assert.strictEqual((yield* say(owner, "ten", sessionId)).summary, null)
      const path = `/api/agent?action=session&sessionId=${owner.conversation}`
      const { text } = yield* (yield* App.TestApp).web({ method: "GET", path, as: owner })
      for (const message of ["one", "two", "nine"]) assert.include(text, `"${message}"`)
    })
  )

  it.effect("An agent's memory is empty after a reset, which leaves that of another owner's agent", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      for (const each of [owner, stranger]) {
        yield* say(each, "The cellar has a secret door.")
        yield* note(each, "The cellar is cold.")
      }
      const path = `/api/instance/${owner.user.id}/reset-memory`
      assert.strictEqual((yield* App.web({ method: "POST", path, as: owner })).status, 200)
      assert.deepStrictEqual(textsOf(yield* recall(owner, "cellar")), [])
      assert.lengthOf(textsOf(yield* recall(stranger, "cellar")), 3)
      const { sessionId } = yield* newSession(owner)
      const turn = yield* say(owner, "What of the cellar?", sessionId)
      assert.deepStrictEqual([turn.memories, turn.summary, turn.history], [[], null, []])
    })
  )

  it.effect(
    "An agent's memory of other conversations is hidden from users of a channel, whatever its runtime requests",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const chat = yield* (yield* IdGenerator).next("chs")
        yield* note(owner, "The owner keeps the treasure in the barn.")
        yield* say(owner, "The treasure is gold.")
        yield* receive(owner, yield* (yield* IdGenerator).next("chs"), "The treasure of another group is silver.")
        yield* receive(owner, chat, "The treasure of this group is tin.")
        const visit = yield* recallDuring(owner, "treasure", receive(owner, chat, "Where is the treasure?"))
        assert.deepInclude(visit.turn, { fromOwner: false, memories: [] })
        const found = textsOf(visit.found).join("\n")
        assert.include(found, "tin")
        for (const secret of ["barn", "gold", "silver"]) assert.notInclude(found, secret)
        assertError(visit.noted, { status: 404, code: "turn_not_in_progress" })

        // The owner's messages to the group through the web are not remembered.
        const joined = yield* recallDuring(owner, "treasure", callApp(owner, "Where is my treasure?", chat))
        assert.deepInclude(joined.turn, { fromOwner: false, memories: [] })
        assert.notInclude(textsOf(joined.found).join("\n"), "gold")

        const own = yield* recallDuring(owner, "treasure", callApp(owner, "Where is my treasure?", owner.conversation))
        assert.isTrue(own.turn.fromOwner)
        const memoryText = own.turn.memories.join("\n")
        assert.include(memoryText, "A person of a messaging channel: The treasure of this group is tin.")

        const ownChat = yield* (yield* IdGenerator).next("chs")
        const remote = yield* recallDuring(owner, "treasure", receive(owner, ownChat, "Where is my treasure?", true))
        assert.isTrue(remote.turn.fromOwner)
        assert.include(remote.turn.memories.join("\n"), "User: The treasure is gold.")
        assert.strictEqual(remote.noted.status, 204)
        for (const text of ["barn", "gold", "silver"]) assert.include(textsOf(remote.found).join("\n"), text)
        for (const text of ["barn", "gold", "silver", "tin"]) assert.include(textsOf(own.found).join("\n"), text)
        assert.strictEqual(own.noted.status, 204)
        // Both turns have ended.
        for (const { messageId } of [visit.turn, own.turn, { messageId: "msg_unknown" }]) {
          const of = { agentId: owner.agent.id, messageId }
          assert.deepStrictEqual(
            textsOf(yield* callBackend(owner, runtimeRecallPath, { ...of, query: "treasure" })),
            []
          )
          const late = yield* callBackend(owner, runtimeNotesPath, { ...of, text: "late" })
          assertError(late, { status: 404, code: "turn_not_in_progress" })
        }
      })
  )

  it.effect("An agent's memory is hidden from a channel's turn whose conversation is deleted during the turn", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const chat = yield* (yield* IdGenerator).next("chs")
      const sql = yield* SqlClient
      yield* note(owner, "The treasure is in the barn.")
      const { found } = yield* recallDuring(
        owner,
        "treasure",
        receive(owner, chat, "hello"),
        sql`delete from chat_sessions where id = ${chat}`
      )
      assert.deepStrictEqual(textsOf(found), [])
    })
  )

  it.effect("An agent's memory is accessible to its owner's runtime only", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      yield* note(owner, "The spare key is under the mat.")
      for (const id of [
        owner.agent.id,
        ...["agt_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b", "", "' | '"].map((id) => AgentId.make(id))
      ]) {
        assertError(yield* recall(stranger, "key", id), { status: 404, code: "agent_not_in_instance" })
        assertError(yield* note(stranger, "planted", id), { status: 404, code: "agent_not_in_instance" })
      }
      assert.deepStrictEqual(textsOf(yield* recall(owner, "planted key")), ["The spare key is under the mat."])
      for (const path of [runtimeNotesPath, runtimeRecallPath])
        for (const authorization of ["", "Bearer nothing", `Basic ${owner.cookie}`]) {
          const json = { agentId: owner.agent.id, messageId: "msg_1", text: "x", query: "x" }
          const answer = yield* App.backend({ method: "POST", path, json, headers: { authorization } })
          assertError(answer, { status: 401, code: "runtime_token_invalid" })
        }
      for (const text of ["", "  ", "x".repeat(2_001), null]) assert.strictEqual((yield* note(owner, text)).status, 400)
    })
  )

  it.effect("An agent's memory never appears in the logs", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { withBehavior } = yield* AgentManagerTest
      yield* note(owner, "hunter2 is the note")
      yield* withBehavior({
        chat: () =>
          Stream.make<[TurnEvent, TurnEvent]>(
            { type: "compacted", summary: "hunter2 is the summary", upToSeq: 0 },
            { type: "done", reply: "hunter2", model: "m" }
          )
      })(say(owner, "hunter2 is the message"))
      yield* recall(owner, "hunter2")
      const lines = yield* (yield* App.TestApp).logLines
      assert.isNotEmpty(lines.filter((line) => line.includes("Empty conversation summary ignored")))
      for (const line of lines) assert.notInclude(line, "hunter2")
    })
  )
})
