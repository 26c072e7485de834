import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { SocketLimits } from "@berth/server/interaction/SocketLimits"
import { assert, describe, it as test, layer } from "@effect/vitest"
import {
  Array,
  DateTime,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Redacted,
  Schedule,
  Scope,
  Stream
} from "effect"
import { connect as netConnect } from "node:net"
import { eventually } from "../support/Eventually.ts"
import { recordSpans } from "../support/RecordedTelemetry.ts"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import {
  connectSocket,
  type SocketFrame,
  readSocketRefusal,
  type SocketCall,
  type SocketClient
} from "../support/SocketClient.ts"
import { insertAgent } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { type OwnerWithAgent, createOwnerWithAgent, exhaustUnits } from "./OwnerFixtures.ts"
import * as s from "./ResponseShapes.ts"

const addressOf = Effect.map(App.TestApp, ({ appUrl }) => `127.0.0.1:${appUrl.port}`)

const callTo = (owner: OwnerWithAgent, more: Partial<SocketCall> = {}) =>
  Effect.map(addressOf, (host): SocketCall => ({ host, path: `/agents/${owner.agent.id}/ws`, ...more }))

const byCookie = (who: App.SignedIn) => ({ headers: { cookie: who.cookie } })

const socketOf = (owner: OwnerWithAgent) => Effect.flatMap(callTo(owner, byCookie(owner)), connectSocket)

const tokenOf = ({ user }: OwnerWithAgent) =>
  Effect.flatMap(InstanceRepository, ({ ensureGatewayToken }) =>
    Effect.map(ensureGatewayToken(user.id), Redacted.value)
  )

const ofType = (type: string) => (frame: SocketFrame) => frame["type"] === type
const accepted = (id: string) => (frame: SocketFrame) => frame["type"] === "accepted" && frame["id"] === id
const of = (messageId: unknown) => (frame: SocketFrame) => String(frame["id"]).startsWith(`${String(messageId)}:`)

const chat = (client: SocketClient, message: string, more: object = {}) =>
  Effect.gen(function* () {
    const id = `mine-${client.frames.length}`
    client.send({ type: "chat", id, message, ...more })
    const { messageId } = yield* client.until(accepted(id))
    yield* client.until((frame) => of(messageId)(frame) && !ofType("delta")(frame))
    return { messageId: String(messageId), frames: client.frames.filter(of(messageId)) }
  })

/** Agents whose answers stop after their first delta until the gate opens. */
const holdAnswers = Effect.gen(function* () {
  const go = yield* Deferred.make<void>()
  const chat = (_userId: string, turn: Turn): Stream.Stream<TurnEvent> =>
    Stream.make<[TurnEvent]>({ type: "delta", text: "Once " }).pipe(
      Stream.concat(Stream.execute(Deferred.await(go))),
      Stream.concat(
        Stream.make<[TurnEvent, TurnEvent]>(
          { type: "delta", text: turn.message },
          { type: "done", reply: `Once ${turn.message}`, model: "test" }
        )
      )
    )
  const { withBehavior } = yield* AgentManagerTest
  return { during: withBehavior({ chat }), go: Deferred.succeed(go, undefined) }
})

const recorded = recordSpans()
const recordedAttributes = () => JSON.stringify(recorded.spans.map((attributes) => [...attributes]))

layer(App.shared, { excludeTestServices: true })("An agent's WebSocket", (it) => {
  it.scoped("An agent's WebSocket sends the status, accepts a message, and sends deltas and the whole reply", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const client = yield* socketOf(owner)
      assert.deepStrictEqual(yield* client.until(() => true), { type: "status", status: "running" })
      client.send({ type: "chat", id: "one", message: "hello" })
      const first = yield* client.until(ofType("accepted"))
      s.assertShape(first, {
        type: s.equalTo("accepted"),
        id: s.equalTo("one"),
        messageId: s.prefixedId("msg"),
        sessionId: s.equalTo(owner.conversation)
      })
      const done = yield* client.until(ofType("done"))
      const id = String(first["messageId"])
      assert.deepStrictEqual(client.frames.slice(2, -1), [
        { type: "delta", id: `${id}:1`, text: "Echo: " },
        { type: "delta", id: `${id}:2`, text: "hello" }
      ])
      s.assertShape(done, {
        type: s.equalTo("done"),
        id: s.equalTo(`${id}:3`),
        sessionId: s.equalTo(owner.conversation),
        reply: s.equalTo("Echo: hello"),
        timestamp: s.recentEpochMillis,
        model: s.equalTo("sandbox/echo"),
        provider: s.equalTo("sandbox"),
        units: s.equalTo(1),
        costMicros: s.equalTo(0),
        durationMs: s.naturalNumber
      })
      client.send({ type: "ping" })
      assert.deepStrictEqual(yield* client.until(ofType("pong")), { type: "pong" })
    })
  )

  it.scoped("An agent's WebSocket answers the messages of a conversation in order, and counts each as any other", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const client = yield* socketOf(owner)
      const messages = Array.makeBy(6, (n) => `message ${n}`)
      for (const message of messages) client.send({ type: "chat", message, sessionId: owner.conversation })
      yield* eventually(
        Effect.sync(() => client.frames.filter(ofType("done"))),
        (done) => done.length === messages.length
      )
      assert.deepStrictEqual(
        client.frames.filter(ofType("done")).map(({ reply }) => reply),
        messages.map((message) => `Echo: ${message}`)
      )
      assert.deepStrictEqual(yield* sql`select used::int as used from unit_days where user_id = ${owner.user.id}`, [
        { used: messages.length }
      ])
    })
  )

  it.scoped("An agent's WebSocket resumes behind any event, on another socket and across routes", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { frames, messageId } = yield* chat(yield* socketOf(owner), "hello")
      for (let after = 0; after <= frames.length; after++) {
        const client = yield* socketOf(owner)
        client.send({ type: "resume", lastEventId: `${messageId}:${after}` })
        client.send({ type: "ping" })
        yield* client.until(after < frames.length ? ofType("done") : ofType("pong"))
        assert.deepStrictEqual(client.frames.filter(of(messageId)), frames.slice(after))
      }
      const headers = { accept: "text/event-stream", "last-event-id": `${messageId}:2` }
      const streamed = yield* App.web({ method: "POST", path: "/api/agent", as: owner, json: {}, headers })
      assert.include(streamed.text, `id: ${messageId}:3`)
    })
  )

  it.scoped("An agent's WebSocket continues an answer on every socket that resumes it, also after the first", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { during, go } = yield* holdAnswers
      yield* during(
        Effect.gen(function* () {
          const [first, second] = [yield* socketOf(owner), yield* socketOf(owner)]
          first.send({ type: "chat", message: "upon a time" })
          const { messageId } = yield* first.until(ofType("accepted"))
          yield* first.until(ofType("delta"))
          second.send({ type: "resume", lastEventId: `${String(messageId)}:0` })
          yield* second.until(ofType("delta"))
          first.ws.terminate()
          yield* go
          assert.deepInclude(yield* second.until(ofType("done")), { reply: "Once upon a time" })
        })
      )
    })
  )

  const wrong: ReadonlyArray<readonly [string, string | object, string]> = [
    ["no JSON", "hello", "frame_invalid"],
    ["no object", "[1]", "frame_invalid"],
    ["null", "null", "frame_invalid"],
    ["of no type", { message: "hello" }, "frame_invalid"],
    ["of an unknown type", { type: "dance" }, "frame_invalid"],
    ["a chat without a message", { type: "chat" }, "frame_invalid"],
    ["a chat whose message is no text", { type: "chat", message: 1 }, "frame_invalid"],
    ["a text with U+0000", String.raw`{"type":"chat","message":"\u0000"}`, "frame_invalid"],
    ["a chat with a blank message", { type: "chat", id: "x", message: " " }, "message_invalid"],
    ["a chat that is too long", { type: "chat", id: "x", message: "m".repeat(100_001) }, "message_invalid"],
    ["a chat in no session", { type: "chat", id: "x", message: "hello", sessionId: "chs_0" }, "chat_session_not_found"],
    ["a resume of no event", { type: "resume", lastEventId: "hello" }, "last_event_id_invalid"],
    ["a resume of no message", { type: "resume", lastEventId: "msg_0:1" }, "message_not_found"]
  ]
  for (const [what, frame, code] of wrong)
    it.scoped(`An agent's WebSocket answers an invalid frame with an error and stays open: ${what}`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* socketOf(owner)
        client.send(frame)
        const error = yield* client.until(ofType("error"))
        assert.strictEqual(error["code"], code, JSON.stringify(error))
        for (const member of ["error", "message"]) assert.isTrue(s.nonEmptyText(error[member]))
        assert.notInclude(String(error["message"]), "readonly")
        assert.includeMembers(["code", "error", "id", "message", "traceId", "type"], Object.keys(error))
        yield* chat(client, "still there?")
      })
    )

  it.scoped("An agent's WebSocket sends the error codes of the routes when a message cannot be answered", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const stranger = yield* createOwnerWithAgent()
      const client = yield* socketOf(owner)
      const codeOf = (id: string, more: object = {}) =>
        Effect.gen(function* () {
          client.send({ type: "chat", id, message: "hello", ...more })
          return (yield* client.until((frame) => ofType("error")(frame) && frame["id"] === id))["code"]
        })
      assert.strictEqual(yield* codeOf("foreign", { sessionId: stranger.conversation }), "chat_session_not_found")
      const { messageId } = yield* chat(yield* socketOf(stranger), "mine")
      client.send({ type: "resume", lastEventId: `${messageId}:0` })
      yield* client.until((frame) => frame["code"] === "message_not_found")
      yield* exhaustUnits(owner)
      assert.strictEqual(yield* codeOf("spent"), "units_exhausted")
      const { changeStatus } = yield* AgentRepository
      yield* changeStatus(owner.agent.id, "running", "stopped")
      assert.strictEqual(yield* codeOf("stopped"), "running_agent_not_found")
    })
  )

  it.scoped("An agent's WebSocket serves the answers of its agent only, not those of the owner's other agents", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const sibling = { ...owner, agent: yield* insertAgent(owner.user.id) }
      const [client, other] = [yield* socketOf(owner), yield* socketOf(sibling)]
      const { frames, messageId } = yield* chat(other, "to the other one")
      client.send({ type: "resume", lastEventId: `${messageId}:1` })
      yield* client.until(ofType("error"))
      assert.deepInclude(client.frames.at(-1), { id: `${messageId}:1`, code: "message_not_found" })
      assert.isTrue(frames.length > 1)
    })
  )

  it.scoped("An agent's WebSocket sends every change of the agent's status, made by any process", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const clients = yield* Effect.replicateEffect(socketOf(owner), 3)
      const { changeStatus } = yield* AgentRepository
      yield* changeStatus(owner.agent.id, "running", "stopped")
      for (const client of clients) yield* client.until((frame) => frame["status"] === "stopped")
      yield* changeStatus(owner.agent.id, "stopped", "active")
      for (const client of clients) yield* client.until((frame) => frame["status"] === "active")
      for (const client of clients)
        assert.deepStrictEqual(
          client.frames.map(({ status }) => status),
          ["running", "stopped", "active"]
        )
    })
  )

  it.scoped("An agent's WebSocket closes when the session ends or the agent is deleted", () =>
    Effect.gen(function* () {
      const [leaving, staying, deleting] = [
        yield* createOwnerWithAgent(),
        yield* createOwnerWithAgent(),
        yield* createOwnerWithAgent()
      ]
      const again = yield* App.openSession(leaving.user)
      const [first, second] = [yield* socketOf(leaving), yield* socketOf({ ...leaving, ...again })]
      const other = yield* socketOf(staying)
      const third = yield* socketOf(deleting)
      yield* App.web({ method: "POST", path: "/api/auth/signout", as: leaving })
      assert.deepInclude(yield* first.closed, { code: 4401 })
      const path = `/api/agents/provision/${deleting.agent.id}`
      assert.strictEqual((yield* App.web({ method: "DELETE", path, as: deleting })).status, 200)
      assert.deepInclude(yield* third.closed, { code: 4404 })
      yield* chat(second, "still there?")
      yield* chat(other, "still there?")
    })
  )

  it.scoped("An agent's WebSocket closes for binary frames, and for frames that are too large", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const binary = yield* socketOf(owner)
      binary.send(new TextEncoder().encode('{"type":"ping"}'))
      assert.deepInclude(yield* binary.closed, { code: 1003 })
      const large = yield* socketOf(owner)
      large.send({ type: "chat", message: "m".repeat(256 * 1024) })
      assert.deepInclude(yield* large.closed, { code: 1009 })
    })
  )

  const refusals: ReadonlyArray<
    readonly [string, number, string, (owner: OwnerWithAgent, stranger: OwnerWithAgent) => Partial<SocketCall>]
  > = [
    ["nobody is signed in", 401, "unauthorized", () => ({})],
    ["the session is none", 401, "unauthorized", () => ({ headers: { cookie: "berth_session=x" } })],
    ["the token is none", 401, "unauthorized", () => ({ headers: { authorization: "Bearer x" } })],
    ["the token is of another scheme", 401, "unauthorized", () => ({ headers: { authorization: "Basic x" } })],
    ["the agent is another's", 404, "agent_not_found", (_, stranger) => byCookie(stranger)],
    ["there is no such agent", 404, "agent_not_found", (owner) => ({ ...byCookie(owner), path: "/agents/agt_0/ws" })],
    [
      "it comes from a page of another origin",
      403,
      "origin_not_allowed",
      (owner) => ({ headers: { cookie: owner.cookie, origin: "https://evil.example" } })
    ],
    [
      "it comes from a sandboxed page",
      403,
      "origin_not_allowed",
      (owner) => ({ headers: { cookie: owner.cookie, origin: "null" } })
    ],
    ["it is another path", 404, "route_not_found", (owner) => ({ ...byCookie(owner), path: "/agents/x/ws/y" })]
  ]
  for (const [when, status, code, more] of refusals)
    it.effect(`An agent's WebSocket is refused before the handshake, as JSON, when ${when}: ${status}`, () =>
      Effect.gen(function* () {
        const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
        assertError(yield* readSocketRefusal(yield* callTo(owner, more(owner, stranger))), { status, code })
      })
    )

  it.effect("An agent's WebSocket is 426 for no handshake, and 400 for a handshake without a key", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const path = `/agents/${owner.agent.id}/ws`
      const withoutConnection = {
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="
      }
      const handshake = { ...withoutConnection, connection: "upgrade" }
      const calls: ReadonlyArray<Readonly<Record<string, string>>> = [
        {},
        withoutConnection,
        { ...handshake, "sec-websocket-version": "8" },
        { ...handshake, upgrade: "h2c" }
      ]
      for (const headers of calls) {
        const answer = yield* App.web({ method: "GET", path, as: owner, headers })
        assertError(answer, { status: 426, code: "upgrade_required" })
        assert.deepInclude(answer.headers, {
          connection: "Upgrade",
          upgrade: "websocket",
          "sec-websocket-version": "13"
        })
      }
      const { "sec-websocket-key": key, ...keyless } = handshake
      for (const headers of [
        keyless,
        { ...handshake, "sec-websocket-key": "short" },
        { ...handshake, "sec-websocket-key": `${key}, ${key}` }
      ])
        assertError(yield* App.web({ method: "GET", path, as: owner, headers }), {
          status: 400,
          code: "handshake_key_invalid"
        })
      assertError(yield* App.web({ method: "POST", path, as: owner }), { status: 405, code: "method_not_allowed" })
    })
  )

  it.effect("An agent's WebSocket leaves requests for other upgrades to their routes", () =>
    Effect.gen(function* () {
      const headers = { connection: "upgrade, http2-settings", upgrade: "h2c", "http2-settings": "" }
      assert.strictEqual((yield* App.web({ method: "GET", path: "/health/live", headers })).status, 200)
    })
  )

  it.scoped("An agent's WebSocket survives a client that disconnects during its handshake", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { host, path } = yield* callTo(owner)
      const [hostname = "", port = "0"] = host.split(":")
      yield* Effect.forEach(
        Array.range(1, 20),
        () =>
          Effect.async<void>((resume) => {
            const socket = netConnect(Number(port), hostname, () => {
              socket.write(
                `GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${owner.cookie}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n` +
                  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                () => {
                  socket.resetAndDestroy()
                  resume(Effect.void)
                }
              )
            })
            socket.on("error", () => resume(Effect.void))
          }),
        { concurrency: 5 }
      )
      yield* chat(yield* socketOf(owner), "still there?")
    })
  )
})

layer(Layer.provide(App.layer(), recorded.layer), { excludeTestServices: true })("The gateway token", (it) => {
  const ways: ReadonlyArray<readonly [string, (token: string, path: string) => Partial<SocketCall>, string]> = [
    ["as a header", (token) => ({ headers: { authorization: `Bearer ${token}` } }), ""],
    ["as a header in any case", (token) => ({ headers: { authorization: `bearer  ${token}` } }), ""],
    ["beside the subprotocol", (token) => ({ protocols: ["berth", `berth.bearer.${token}`] }), "berth"],
    ["in the query", (token, path) => ({ path: `${path}?x=1&token=${token}` }), ""]
  ]
  for (const [how, more, protocol] of ways)
    it.scoped(`The gateway token opens a socket ${how}, and appears in no log and no span`, () =>
      Effect.gen(function* () {
        const { logLines } = yield* App.TestApp
        const owner = yield* createOwnerWithAgent()
        const token = yield* tokenOf(owner)
        const client = yield* connectSocket(yield* callTo(owner, more(token, `/agents/${owner.agent.id}/ws`)))
        assert.strictEqual(client.ws.protocol, protocol)
        yield* chat(client, "hello")
        yield* eventually(logLines, (lines) => lines.some((line) => line.includes(`/agents/${owner.agent.id}/ws`)))
        assert.notInclude((yield* logLines).join("\n"), token)
        assert.isTrue(recorded.spans.some((attributes) => attributes.has("url.path")))
        assert.notInclude(recordedAttributes(), token)
      })
    )

  it.scoped("The gateway token opens a socket as the only subprotocol, which is selected", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const protocols = [`berth.bearer.${yield* tokenOf(owner)}`]
      const client = yield* connectSocket(yield* callTo(owner, { protocols }))
      assert.deepStrictEqual([client.ws.protocol], protocols)
    })
  )

  it.effect("The gateway token opens no socket of another owner's agent, and appears in no request log", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const token = yield* tokenOf(stranger)
      const headers = { authorization: `Bearer ${token}` }
      assertError(yield* readSocketRefusal(yield* callTo(owner, { headers })), { status: 401, code: "unauthorized" })
      const path = `/agents/${owner.agent.id}/ws?token=${token}`
      assert.strictEqual((yield* App.web({ method: "GET", path })).status, 401)
      assert.notInclude((yield* logLines).join("\n"), token)
      assert.notInclude(recordedAttributes(), token)
    })
  )

  it.scoped("The gateway token closes its sockets when it is replaced", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const headers = { authorization: `Bearer ${yield* tokenOf(owner)}` }
      const client = yield* connectSocket(yield* callTo(owner, { headers }))
      const session = yield* socketOf(owner)
      yield* client.until(ofType("status"))
      yield* sql`update instances set gateway_token_sealed = null where owner_id = ${owner.user.id}`
      assert.notStrictEqual(`Bearer ${yield* tokenOf(owner)}`, headers.authorization)
      assert.deepInclude(yield* client.closed, { code: 4401 })
      yield* chat(session, "still there?")
      assertError(yield* readSocketRefusal(yield* callTo(owner, { headers })), { status: 401, code: "unauthorized" })
    })
  )
})

const strict = (changes: Partial<typeof SocketLimits.Service>) =>
  Layer.unwrapEffect(
    Effect.map(SocketLimits, (usual) =>
      Layer.provide(App.layer(), Layer.succeed(SocketLimits, { ...usual, ...changes }))
    )
  )

layer(strict({ perUser: 2, answers: 1, framesAhead: 3, heartbeat: Duration.seconds(3) }), {
  excludeTestServices: true
})("A socket with little to spend", (it) => {
  it.scoped("An agent's WebSocket is limited per user; one more is 429 until another is closed", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const first = yield* socketOf(owner)
      yield* socketOf(owner)
      const refused = yield* readSocketRefusal(yield* callTo(owner, byCookie(owner)))
      assertError(refused, { status: 429, code: "socket_limit_reached" })
      assert.strictEqual(refused.headers["retry-after"], "5")
      yield* socketOf(other)
      first.ws.close()
      yield* first.closed
      yield* Effect.retry(Effect.scoped(socketOf(owner)), { times: 600, schedule: Schedule.spaced("50 millis") })
    })
  )

  it.scoped("An agent's WebSocket is limited in answers at a time", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { during, go } = yield* holdAnswers
      yield* during(
        Effect.gen(function* () {
          const client = yield* socketOf(owner)
          client.send({ type: "chat", message: "one" })
          yield* client.until(ofType("delta"))
          client.send({ type: "chat", id: "two", message: "two" })
          assert.deepInclude(yield* client.until(ofType("error")), { id: "two", code: "answer_limit_reached" })
          yield* go
          yield* client.until(ofType("done"))
          yield* chat(client, "three")
        })
      )
    })
  )

  it.scoped("An agent's WebSocket is closed when frames arrive faster than they are processed", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const client = yield* socketOf(owner)
      for (let n = 0; n < 200; n++) client.send({ type: "chat", message: `message ${n}` })
      assert.deepInclude(yield* client.closed, { code: 1008 })
    })
  )

  it.scoped("An agent's WebSocket stays open for a client that answers pings, and is closed for a silent one", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const [alive, dead] = [yield* socketOf(owner), yield* socketOf(owner)]
      dead.ws.pause()
      yield* eventually(Effect.either(Effect.scoped(socketOf(owner))), (another) => another._tag === "Right")
      assert.strictEqual(alive.ws.readyState, alive.ws.OPEN)
      yield* chat(alive, "still there?")
      yield* sql`select 1`
    })
  )
})

layer(strict({ bufferedBytes: 64 * 1024, closeTimeout: Duration.millis(300) }), { excludeTestServices: true })(
  "A client that does not read",
  (it) => {
    it.scoped("An agent's WebSocket is closed before unread answers fill the memory, and the rest can be resumed", () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { withBehavior } = yield* AgentManagerTest
        const piece = "x".repeat(64 * 1024)
        const count = 200
        const chat = () =>
          Stream.range(1, count).pipe(
            Stream.map((): TurnEvent => ({ type: "delta", text: piece })),
            Stream.rechunk(1),
            Stream.tap(() => Effect.sleep("1 millis")),
            Stream.concat(Stream.make<[TurnEvent]>({ type: "done", reply: "long", model: "test" }))
          )
        yield* withBehavior({ chat })(
          Effect.gen(function* () {
            const client = yield* socketOf(owner)
            client.send({ type: "chat", message: "hello" })
            const { messageId } = yield* client.until(ofType("accepted"))
            client.ws.pause()
            const { countByUser } = yield* ConversationRepository
            yield* eventually(countByUser(owner.user.id), (messages) => messages === 2)
            client.ws.resume()
            const { code } = yield* client.closed
            assert.include([1013, 1006], code)
            const frames = client.frames.filter(of(messageId))
            assert.isBelow(frames.length, count)
            const another = yield* socketOf(owner)
            another.send({ type: "resume", lastEventId: `${String(messageId)}:${frames.length}` })
            // It reads more slowly than a stored answer is sent.
            yield* Effect.raceFirst(another.until(ofType("done")), another.closed)
            const rest = another.frames.filter(of(messageId))
            assert.deepStrictEqual(
              [...frames, ...rest].map(({ id }) => id),
              Array.makeBy(frames.length + rest.length, (n) => `${String(messageId)}:${n + 1}`)
            )
          })
        )
      })
    )
  }
)

layer(strict({ perUser: 1, bufferedBytes: 256 * 1024 * 1024, heartbeat: Duration.millis(300) }), {
  excludeTestServices: true
})("A client that sends and does not read", (it) => {
  it.scoped(
    "An agent's WebSocket is disconnected when unread output makes no progress, although its client sends",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { withBehavior } = yield* AgentManagerTest
        const chat = () =>
          Stream.range(1, 300).pipe(
            Stream.map((): TurnEvent => ({ type: "delta", text: "x".repeat(64 * 1024) })),
            Stream.rechunk(1),
            Stream.concat(Stream.make<[TurnEvent]>({ type: "done", reply: "long", model: "test" }))
          )
        yield* withBehavior({ chat })(
          Effect.gen(function* () {
            const client = yield* socketOf(owner)
            client.send({ type: "chat", message: "hello" })
            yield* client.until(ofType("accepted"))
            client.ws.pause()
            yield* Effect.forkScoped(
              Effect.schedule(
                Effect.sync(() => client.send({ type: "ping" })),
                Schedule.spaced("50 millis")
              )
            )
            yield* eventually(Effect.either(Effect.scoped(socketOf(owner))), (another) => another._tag === "Right")
          })
        )
      })
  )
})

describe("An open socket", () => {
  test.scopedLive("A message by an agent's WebSocket counts as use of its instance", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const instances = yield* InstanceRepository
      yield* instances.update(owner.user.id, { desired: "up" })
      yield* socketOf(owner)
      yield* sql`update instances set last_used_at = '2000-01-01' where owner_id = ${owner.user.id}`
      const unused = instances.listUnused(DateTime.unsafeMake("2001-01-01"))
      yield* eventually(unused, (all) => !all.includes(owner.user.id))
    }).pipe(Effect.provide(App.layer({ instanceIdle: Duration.millis(400) })))
  )
})

describe("A service that stops", () => {
  test.scopedLive("A server that stops completes answers in progress, then closes its sockets", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const services = yield* Scope.extend(Layer.build(App.layer({ drainLimit: Duration.seconds(20) })), scope)
      yield* Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { during, go } = yield* holdAnswers
        yield* during(
          Effect.gen(function* () {
            const [busy, idle] = [yield* socketOf(owner), yield* socketOf(owner)]
            busy.send({ type: "chat", message: "upon a time" })
            yield* busy.until(ofType("delta"))
            const stopping = yield* Effect.forkDaemon(Scope.close(scope, Exit.void))
            assert.deepInclude(yield* idle.closed, { code: 1001 })
            busy.send({ type: "chat", id: "late", message: "one more" })
            assert.deepInclude(yield* busy.until(ofType("error")), { id: "late", code: "service_unavailable" })
            yield* go
            assert.deepInclude(yield* busy.until(ofType("done")), { reply: "Once upon a time" })
            assert.deepInclude(yield* busy.closed, { code: 1001 })
            yield* Fiber.join(stopping)
          })
        )
      }).pipe(Effect.provide(services))
    })
  )
})
