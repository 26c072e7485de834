import { assert } from "@effect/vitest"
import { Chunk, Effect, Predicate, Stream } from "effect"
import { eventually } from "../support/Eventually.ts"
import { type SignedUpClient } from "./WebClient.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { assertMatches } from "../support/Matching.ts"

/** The sorted keys of an object; empty for other values. */
export const sortedKeysOf = (value: unknown): ReadonlyArray<string> =>
  Predicate.isRecord(value) ? Object.keys(value).toSorted() : []

/** A member of an unknown value, or undefined. */
export const memberAt = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce((inner: unknown, key) => (Predicate.hasProperty(inner, key) ? inner[key] : undefined), value)

export const textOrEmpty = (value: unknown): string => (Predicate.isString(value) ? value : "")

const isTimestamp = (value: unknown) => new Date(textOrEmpty(value)).toISOString() === value

const detailKeys = [
  "attestationUid",
  "id",
  "plan",
  "runtimeVersion",
  "startedAt",
  "status",
  "subdomain",
  "url",
  "verificationType",
  "verified",
  "verifiedAt"
]

const instanceKeys = ["plan", "runtimeVersion", "startedAt", "status", "subdomain", "url", "userId"]

/**
 * The service's main job on the wire, by a user who may provision and has no agent: provision an agent, wait until it
 * runs, chat through every route, stop, start and restart it, and continue the conversation.
 */
export const runMainJob = (person: SignedUpClient) =>
  Effect.gen(function* () {
    const { events, raw, userId } = person

    const settings = yield* raw("GET", "/api/settings")
    assert.containSubset(settings, {
      status: 200,
      body: { id: userId, email: person.account.email, name: person.account.email, credits: 0, twoFactorEnabled: false }
    })
    assert.deepStrictEqual(sortedKeysOf(settings.body), ["credits", "email", "id", "name", "plan", "twoFactorEnabled"])

    const requested = yield* raw("POST", "/api/agents/provision", { body: { name: "Ada" } })
    assert.containSubset(requested, {
      status: 201,
      body: { success: true, agent: { name: "Ada", status: "provisioning", model: "claude-opus-4-6" } }
    })
    assert.deepStrictEqual(sortedKeysOf(requested.body), ["agent", "success"])
    const agent = memberAt(requested.body, "agent")
    assert.deepStrictEqual(sortedKeysOf(agent), ["createdAt", "id", "model", "name", "status", "websocketUrl"])
    assert.isTrue(isTimestamp(memberAt(agent, "createdAt")))
    const id = AgentId.make(textOrEmpty(memberAt(agent, "id")))
    assert.match(textOrEmpty(memberAt(agent, "websocketUrl")), new RegExp(`^ws://.*/agents/${id}/ws$`))

    yield* person.untilRunning(id)
    const listed = yield* raw("GET", "/api/agents")
    assert.deepStrictEqual(sortedKeysOf(listed.body), ["agents", "count", "status"])
    assertMatches(listed.body, { count: 1, status: "ok", agents: [{ id, status: "running" }] })
    const detail = yield* raw("GET", `/api/agents/${id}`)
    assert.deepStrictEqual(sortedKeysOf(detail.body), ["agent", "status"])
    assert.deepStrictEqual(sortedKeysOf(memberAt(detail.body, "agent")), detailKeys)
    assert.containSubset(detail.body, { status: "ok", agent: { id, status: "running", verified: false } })
    assert.isTrue(isTimestamp(memberAt(detail.body, "agent", "startedAt")))
    const instance = yield* raw("GET", `/api/instance/${userId}`)
    assert.deepStrictEqual(sortedKeysOf(instance.body), instanceKeys)
    assert.containSubset(instance.body, { userId, status: "running" })
    const token = yield* raw("GET", `/api/instance/${userId}/token`)
    assert.deepStrictEqual(sortedKeysOf(token.body), ["token"])
    assert.deepStrictEqual((yield* raw("GET", `/api/instance/${userId}/token`)).body, token.body)

    const first = yield* raw("POST", "/api/agent", { body: { action: "chat", message: "Good morning" } })
    assert.strictEqual(first.status, 200)
    assert.deepStrictEqual(sortedKeysOf(first.body), ["reply", "sessionId", "timestamp"])
    assert.include(textOrEmpty(memberAt(first.body, "reply")), "Good morning")
    assert.isTrue(Number.isInteger(memberAt(first.body, "timestamp")))
    const sessionId = textOrEmpty(memberAt(first.body, "sessionId"))

    const received = Chunk.toReadonlyArray(
      yield* Stream.runCollect(events("/api/agent", { message: "Piece by piece" }))
    )
    const deltas = received
      .filter(({ event }) => event === "delta")
      .map(({ data }) => textOrEmpty(memberAt(data, "text")))
    assert.isAbove(deltas.length, 1)
    assert.deepStrictEqual(
      received.map(({ event }) => event),
      [...deltas.map(() => "delta"), "done"]
    )
    assert.containSubset(received.at(-1)?.data, { sessionId, reply: deltas.join("") })
    assert.include(deltas.join(""), "Piece by piece")
    assert.strictEqual(new Set(received.map((event) => event.id)).size, received.length)

    const sent = yield* raw("POST", "/api/chat", { body: { message: "A question", topic: "weather" } })
    assert.containSubset(sent, { status: 200, body: { message: "A question", topic: "weather", status: "sent" } })
    assert.deepStrictEqual(sortedKeysOf(sent.body), ["id", "message", "reply", "status", "timestamp", "topic"])
    assert.isTrue(isTimestamp(memberAt(sent.body, "timestamp")))
    const record = yield* raw("GET", "/api/chat")
    assert.deepStrictEqual(sortedKeysOf(record.body), ["count", "messages"])
    assertMatches(record.body, {
      count: 6,
      messages: [{ sender: "agent" }, { sender: "user", message: "A question", topic: "weather" }, {}, {}, {}, {}]
    })

    const sessions = yield* raw("GET", "/api/agent?action=sessions")
    assertMatches(sessions.body, { sessions: [{ id: sessionId, status: "active", messageCount: 6 }] })
    assert.deepStrictEqual(sortedKeysOf(memberAt(sessions.body, "sessions", "0")), [
      "createdAt",
      "id",
      "lastActivity",
      "messageCount",
      "status"
    ])
    const session = yield* raw("GET", `/api/agent?action=session&sessionId=${sessionId}`)
    assertMatches(session.body, {
      session: {
        id: sessionId,
        messages: [
          { role: "user", content: "Good morning" },
          { role: "assistant" },
          { role: "user", content: "Piece by piece" },
          { role: "assistant" },
          { role: "user", content: "A question" },
          { role: "assistant" }
        ]
      }
    })
    yield* raw("POST", "/api/agent", { body: { message: "x".repeat(300) } })
    const memory = yield* raw("GET", "/api/agent?action=memory")
    assert.deepStrictEqual(sortedKeysOf(memory.body), ["memory"])
    assert.deepStrictEqual(memberAt(memory.body, "memory", "6"), { role: "user", content: "x".repeat(100) })

    const opened = yield* raw("POST", "/api/agent", { body: { action: "create-session" } })
    assert.deepStrictEqual(sortedKeysOf(opened.body), ["sessionId", "status"])
    assert.containSubset(opened, { status: 200, body: { status: "active" } })
    assert.notStrictEqual(memberAt(opened.body, "sessionId"), sessionId)

    const statuses = Effect.gen(function* () {
      const agents = yield* raw("GET", "/api/agents/provision")
      assert.deepStrictEqual(sortedKeysOf(agents.body), ["agents", "count", "success"])
      const one = yield* raw("GET", `/api/instance/${userId}`)
      return [memberAt(agents.body, "agents", "0", "status"), yield* person.statusOf(id), memberAt(one.body, "status")]
    })
    const act = (verb: string) => raw("POST", `/api/instance/${userId}/${verb}`)

    assert.containSubset(yield* act("stop"), { status: 200, body: { success: true, status: "stopped" } })
    assert.deepStrictEqual(yield* statuses, ["stopped", "stopped", "stopped"])
    assert.containSubset(yield* raw("POST", "/api/agent", { body: { message: "Anyone?" } }), {
      status: 404,
      body: { code: "running_agent_not_found" }
    })
    assert.containSubset(yield* raw("POST", "/api/chat", { body: { message: "Anyone?" } }), {
      status: 500,
      body: { error: "failed to send" }
    })

    const started = yield* act("start")
    assert.containSubset(started, { status: 200, body: { success: true, status: "active" } })
    assert.deepStrictEqual(sortedKeysOf(started.body), ["status", "success"])
    assert.deepStrictEqual(yield* statuses, ["active", "active", "active"])
    const restarted = yield* act("restart")
    assert.containSubset(restarted, {
      status: 200,
      body: { success: true, status: "active", healedLegacyModel: false, healMessage: null }
    })
    assert.deepStrictEqual(sortedKeysOf(restarted.body), [
      "healMessage",
      "healedLegacyModel",
      "runtimeVersion",
      "status",
      "success"
    ])
    assert.deepStrictEqual(yield* statuses, ["active", "active", "active"])

    assert.strictEqual((yield* person.chat("And on we go", sessionId)).sessionId, sessionId)
    yield* eventually(
      raw("GET", `/api/agent?action=session&sessionId=${sessionId}`),
      ({ body }) => memberAt(body, "session", "messageCount") === 10,
      { description: "ten messages in the session" }
    )
    return { id, sessionId }
  })

/**
 * Uploads a skill with a script to the first agent; the returned effect runs it in the instance and returns its units.
 */
export const uploadSkill = (person: SignedUpClient) =>
  Effect.gen(function* () {
    const { body } = yield* person.raw("GET", "/api/agents")
    const agents = memberAt(body, "agents")
    const path = `/api/agents/${textOrEmpty(memberAt(Array.isArray(agents) ? agents[0] : null, "id"))}/skills`
    const parameters = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
    const tool = { name: "count_words", description: "Counts words", parameters, script: "count.mjs" }
    const script = `export default ({ text }) => text.split(" ").length + typeof process`
    const files = [
      { path: "SKILL.md", content: "---\nname: word-count\ndescription: Counts words.\n---\n" },
      { path: "tools.json", content: JSON.stringify([tool]) },
      { path: "count.mjs", content: script }
    ]
    assert.containSubset(yield* person.raw("POST", path, { body: { files } }), { status: 201 })
    return Effect.gen(function* () {
      const input = { arguments: { text: "one two three" } }
      const begun = yield* person.raw("POST", `${path}/word-count/runs`, { body: { input } })
      const runPath = `${path}/word-count/runs/${textOrEmpty(memberAt(begun.body, "id"))}`
      const ended = yield* eventually(
        Effect.map(person.raw("GET", runPath), (answer) => memberAt(answer.body, "run")),
        (found) => textOrEmpty(memberAt(found, "endedAt")) !== "",
        { description: "the end of the run", timeout: "60 seconds" }
      )
      assert.deepInclude(ended, { status: "succeeded", result: "3undefined", reason: null })
      return memberAt(ended, "units")
    })
  })
