import { Chunk, Effect, Predicate, Stream } from "effect"
import { expect } from "vitest"
import { eventually } from "../support/Eventually.ts"
import { type SignedUpClient } from "./WebClient.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

/** The keys of an object, sorted; none of anything else. */
export const sortedKeysOf = (value: unknown): ReadonlyArray<string> =>
  Predicate.isRecord(value) ? Object.keys(value).toSorted() : []

/** A member of an object, whatever it is. */
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
 * The service's main job, by someone who may provision and has no agent yet, asserted on what is on the wire: an agent is
 * asked for, runs, answers through every route, is stopped, started and restarted, and the conversation goes on.
 */
export const runMainJob = (person: SignedUpClient) =>
  Effect.gen(function* () {
    const { events, raw, userId } = person

    const settings = yield* raw("GET", "/api/settings")
    expect(settings).toMatchObject({
      status: 200,
      body: { id: userId, email: person.account.email, name: person.account.email, credits: 0, twoFactorEnabled: false }
    })
    expect(sortedKeysOf(settings.body)).toEqual(["credits", "email", "id", "name", "plan", "twoFactorEnabled"])

    const asked = yield* raw("POST", "/api/agents/provision", { body: { name: "Ada" } })
    expect(asked).toMatchObject({
      status: 201,
      body: { success: true, agent: { name: "Ada", status: "provisioning", model: "claude-opus-4-6" } }
    })
    expect(sortedKeysOf(asked.body)).toEqual(["agent", "success"])
    const agent = memberAt(asked.body, "agent")
    expect(sortedKeysOf(agent)).toEqual(["createdAt", "id", "model", "name", "status", "websocketUrl"])
    expect(memberAt(agent, "createdAt")).toSatisfy(isTimestamp)
    const id = AgentId.make(textOrEmpty(memberAt(agent, "id")))
    expect(memberAt(agent, "websocketUrl")).toMatch(new RegExp(`^ws://.*/agents/${id}/ws$`))

    yield* person.untilRunning(id)
    const listed = yield* raw("GET", "/api/agents")
    expect(sortedKeysOf(listed.body)).toEqual(["agents", "count", "status"])
    expect(listed.body).toMatchObject({ count: 1, status: "ok", agents: [{ id, status: "running" }] })
    const detail = yield* raw("GET", `/api/agents/${id}`)
    expect(sortedKeysOf(detail.body)).toEqual(["agent", "status"])
    expect(sortedKeysOf(memberAt(detail.body, "agent"))).toEqual(detailKeys)
    expect(detail.body).toMatchObject({ status: "ok", agent: { id, status: "running", verified: false } })
    expect(memberAt(detail.body, "agent", "startedAt")).toSatisfy(isTimestamp)
    const instance = yield* raw("GET", `/api/instance/${userId}`)
    expect(sortedKeysOf(instance.body)).toEqual(instanceKeys)
    expect(instance.body).toMatchObject({ userId, status: "running" })
    const token = yield* raw("GET", `/api/instance/${userId}/token`)
    expect(sortedKeysOf(token.body)).toEqual(["token"])
    expect((yield* raw("GET", `/api/instance/${userId}/token`)).body).toEqual(token.body)

    const first = yield* raw("POST", "/api/agent", { body: { action: "chat", message: "Good morning" } })
    expect(first.status).toBe(200)
    expect(sortedKeysOf(first.body)).toEqual(["reply", "sessionId", "timestamp"])
    expect(textOrEmpty(memberAt(first.body, "reply"))).toContain("Good morning")
    expect(memberAt(first.body, "timestamp")).toSatisfy(Number.isInteger)
    const sessionId = textOrEmpty(memberAt(first.body, "sessionId"))

    const told = Chunk.toReadonlyArray(yield* Stream.runCollect(events("/api/agent", { message: "Piece by piece" })))
    const deltas = told.filter(({ event }) => event === "delta").map(({ data }) => textOrEmpty(memberAt(data, "text")))
    expect(deltas.length).toBeGreaterThan(1)
    expect(told.map(({ event }) => event)).toEqual([...deltas.map(() => "delta"), "done"])
    expect(told.at(-1)?.data).toMatchObject({ sessionId, reply: deltas.join("") })
    expect(deltas.join("")).toContain("Piece by piece")
    expect(new Set(told.map((event) => event.id)).size).toBe(told.length)

    const sent = yield* raw("POST", "/api/chat", { body: { message: "A question", topic: "weather" } })
    expect(sent).toMatchObject({ status: 200, body: { message: "A question", topic: "weather", status: "sent" } })
    expect(sortedKeysOf(sent.body)).toEqual(["id", "message", "reply", "status", "timestamp", "topic"])
    expect(memberAt(sent.body, "timestamp")).toSatisfy(isTimestamp)
    const record = yield* raw("GET", "/api/chat")
    expect(sortedKeysOf(record.body)).toEqual(["count", "messages"])
    expect(record.body).toMatchObject({
      count: 6,
      messages: [{ sender: "agent" }, { sender: "user", message: "A question", topic: "weather" }, {}, {}, {}, {}]
    })

    const sessions = yield* raw("GET", "/api/agent?action=sessions")
    expect(sessions.body).toMatchObject({ sessions: [{ id: sessionId, status: "active", messageCount: 6 }] })
    expect(sortedKeysOf(memberAt(sessions.body, "sessions", "0"))).toEqual([
      "createdAt",
      "id",
      "lastActivity",
      "messageCount",
      "status"
    ])
    const session = yield* raw("GET", `/api/agent?action=session&sessionId=${sessionId}`)
    expect(session.body).toMatchObject({
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
    expect(sortedKeysOf(memory.body)).toEqual(["memory"])
    expect(memberAt(memory.body, "memory", "6")).toEqual({ role: "user", content: "x".repeat(100) })

    const opened = yield* raw("POST", "/api/agent", { body: { action: "create-session" } })
    expect(sortedKeysOf(opened.body)).toEqual(["sessionId", "status"])
    expect(opened).toMatchObject({ status: 200, body: { status: "active" } })
    expect(memberAt(opened.body, "sessionId")).not.toBe(sessionId)

    const statuses = Effect.gen(function* () {
      const agents = yield* raw("GET", "/api/agents/provision")
      expect(sortedKeysOf(agents.body)).toEqual(["agents", "count", "success"])
      const one = yield* raw("GET", `/api/instance/${userId}`)
      return [memberAt(agents.body, "agents", "0", "status"), yield* person.statusOf(id), memberAt(one.body, "status")]
    })
    const act = (verb: string) => raw("POST", `/api/instance/${userId}/${verb}`)

    expect(yield* act("stop")).toMatchObject({ status: 200, body: { success: true, status: "stopped" } })
    expect(yield* statuses).toEqual(["stopped", "stopped", "stopped"])
    expect(yield* raw("POST", "/api/agent", { body: { message: "Anyone?" } })).toMatchObject({
      status: 404,
      body: { code: "running_agent_not_found" }
    })
    expect(yield* raw("POST", "/api/chat", { body: { message: "Anyone?" } })).toMatchObject({
      status: 500,
      body: { error: "failed to send" }
    })

    const started = yield* act("start")
    expect(started).toMatchObject({ status: 200, body: { success: true, status: "active" } })
    expect(sortedKeysOf(started.body)).toEqual(["status", "success"])
    expect(yield* statuses).toEqual(["active", "active", "active"])
    const restarted = yield* act("restart")
    expect(restarted).toMatchObject({
      status: 200,
      body: { success: true, status: "active", healedLegacyModel: false, healMessage: null }
    })
    expect(sortedKeysOf(restarted.body)).toEqual([
      "healMessage",
      "healedLegacyModel",
      "runtimeVersion",
      "status",
      "success"
    ])
    expect(yield* statuses).toEqual(["active", "active", "active"])

    expect((yield* person.chat("And on we go", sessionId)).sessionId).toBe(sessionId)
    yield* eventually(
      raw("GET", `/api/agent?action=session&sessionId=${sessionId}`),
      ({ body }) => memberAt(body, "session", "messageCount") === 10,
      { description: "ten messages in the session" }
    )
    return { id, sessionId }
  })
