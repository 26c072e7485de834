import { runtimeModelPath } from "@berth/api/runtime/RuntimeContract"
import { AttachmentId, attachmentLimits, makeImageReference } from "@berth/domain/interaction/attachments/Attachment"
import { AttachmentRepository } from "@berth/domain/interaction/attachments/AttachmentRepository"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import type { Turn } from "@berth/domain/instances/AgentRuntime"
import { assert, layer } from "@effect/vitest"
import { Array, DateTime, Effect, Redacted, Schema, Stream } from "effect"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { connectSocket } from "../support/SocketClient.ts"
import { insertAgent, png } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { countStored, receivedTurns, withVision } from "./AttachmentFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { doneEvent, findUsedUnits, leaveUnits, platformModel } from "./TurnFixtures.ts"

const upload = (
  owner: OwnerWithAgent,
  name: string,
  body: string | Uint8Array,
  as: App.SignedIn = owner,
  headers: Readonly<Record<string, string>> = {}
) =>
  App.web({
    method: "POST",
    path: `/api/agents/${owner.agent.id}/attachments?name=${encodeURIComponent(name)}`,
    as,
    headers: { "content-type": "application/octet-stream", ...headers },
    body
  })

const Uploaded = Schema.Struct({ attachment: Schema.Struct({ id: Schema.String }) })
const uploadId = (owner: OwnerWithAgent, name: string, body: string | Uint8Array) =>
  Effect.map(upload(owner, name, body), (answer) => Schema.decodeUnknownSync(Uploaded)(answer.body).attachment.id)

const read = (owner: OwnerWithAgent, id: string, as: App.SignedIn = owner) =>
  App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/attachments/${id}`, as })

const send = (owner: OwnerWithAgent, json: Readonly<Record<string, unknown>>) =>
  App.web({ method: "POST", path: "/api/agent", as: owner, json: { sessionId: owner.conversation, ...json } })

const Page = Schema.Struct({
  session: Schema.Struct({
    messages: Schema.Array(Schema.Struct({ role: Schema.String, attachments: Schema.Array(Schema.Unknown) }))
  })
})

layer(App.shared, { excludeTestServices: true })("Attachments", (it) => {
  it.effect("An attachment has the type of its bytes, and is read by its owner only, without a chance to run", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const stranger = yield* createOwnerWithAgent()
      const image = yield* upload(owner, '../a "dot".html', png)
      assert.strictEqual(image.status, 201)
      const { attachment } = Schema.decodeUnknownSync(Uploaded)(image.body)
      assert.deepStrictEqual(image.body, {
        attachment: { id: attachment.id, name: "a  dot .html", mediaType: "image/png", size: png.length }
      })
      const shown = yield* read(owner, attachment.id)
      assert.strictEqual(shown.status, 200)
      assert.deepInclude(shown.headers, {
        "content-type": "image/png",
        "content-length": String(png.length),
        "content-disposition": "inline; filename*=UTF-8''a%20%20dot%20.html",
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff"
      })
      const script = yield* uploadId(owner, "page.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>")
      const download = yield* read(owner, script)
      assert.strictEqual(download.headers["content-type"], "text/plain; charset=utf-8")
      assert.match(String(download.headers["content-disposition"]), /^attachment;/)
      for (const id of [attachment.id, script]) {
        assertError(yield* read(owner, id, stranger), { status: 404, code: "agent_not_found" })
        assertError(yield* read(stranger, id), { status: 404, code: "attachment_not_found" })
      }
      assertError(yield* upload(owner, "a.txt", "a", stranger), { status: 404, code: "agent_not_found" })
    })
  )

  it.effect("An upload runs once per key, and a key with another file is refused", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const put = (content: Uint8Array, name = "a.png") =>
        upload(owner, name, content, owner, { "idempotency-key": "once" })
      const answers = yield* Effect.all([put(png), put(png), put(png)], { concurrency: "unbounded" })
      const later = yield* put(png)
      for (const { status, text } of [...answers, later]) assert.deepStrictEqual([status, text], [201, later.text])
      assert.strictEqual(yield* countStored(owner), 1)
      // In both the last byte is invalid UTF-8.
      const [one, other] = [0xfd, 0xfe].map((last) => Uint8Array.from([...png, last]))
      const binary = (content: Uint8Array) => upload(owner, "b.png", content, owner, { "idempotency-key": "binary" })
      assert.strictEqual((yield* binary(one ?? png)).status, 201)
      for (const refused of [yield* put(png, "b.png"), yield* binary(other ?? png)])
        assertError(refused, { status: 422, code: "idempotency_key_reused" })
      assert.strictEqual(yield* countStored(owner), 2)
    })
  )

  it.effect("An upload that is empty, binary or too large is refused and stores nothing", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { imageBytes, textBytes } = attachmentLimits
      for (const body of [
        "",
        Buffer.from("%PDF-1.7\n\u0000"),
        Buffer.from([0xff, 0xfe, 0x41]),
        "x".repeat(textBytes + 1)
      ])
        assertError(yield* upload(owner, "a.pdf", body), { status: 400, code: "attachment_invalid" })
      assertError(yield* upload(owner, "a.png", Buffer.concat([png, Buffer.alloc(imageBytes)])), {
        status: 413,
        code: "body_too_large"
      })
      const largest = Buffer.concat([png, Buffer.alloc(imageBytes - png.length)])
      assert.strictEqual((yield* upload(owner, "a.png", largest)).status, 201)
      assert.strictEqual(yield* countStored(owner), 1)
    })
  )

  it.effect("A message brings its files to the agent, which receives them again with each later message", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const image = yield* uploadId(owner, "dot.png", png)
      const text = yield* uploadId(owner, "notes.md", "Use ``` with care")
      const turns = yield* receivedTurns(
        Effect.gen(function* () {
          assert.strictEqual((yield* send(owner, { attachments: [image, text] })).status, 200)
          assert.strictEqual((yield* send(owner, { message: "And now?" })).status, 200)
        })
      ).pipe(withVision)
      const content = "[Attached image: dot.png]\n\nAttached file notes.md:\n````\nUse ``` with care\n````"
      const [first, second] = turns
      assert.strictEqual(first?.message, content)
      assert.deepStrictEqual(first?.images, [image])
      assert.deepStrictEqual(
        second?.history.map((message) => [message.role, message.content, message.images]),
        [
          ["user", content, [image]],
          ["assistant", "fine", undefined]
        ]
      )
      assert.isUndefined(second?.images)
      const path = `/api/agent?action=session&sessionId=${owner.conversation}`
      const { session } = Schema.decodeUnknownSync(Page)((yield* App.web({ method: "GET", path, as: owner })).body)
      assert.deepStrictEqual(session.messages[0]?.attachments, [
        { id: image, name: "dot.png", mediaType: "image/png", size: png.length },
        { id: text, name: "notes.md", mediaType: "text/plain", size: 17 }
      ])
      assert.deepStrictEqual(session.messages[1]?.attachments, [])
      yield* App.web({ method: "DELETE", path: `/api/agent/sessions/${owner.conversation}`, as: owner })
      assert.strictEqual(yield* countStored(owner), 0)
    })
  )

  it.scoped("A message of /api/chat and one over a WebSocket attach their owner's files, and no other owner's", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const stranger = yield* createOwnerWithAgent()
      const foreign = yield* uploadId(stranger, "a.txt", "secret")
      const [first, second] = [yield* uploadId(owner, "a.txt", "first"), yield* uploadId(owner, "b.txt", "second")]
      const { appUrl } = yield* App.TestApp
      const post = (...attachments: ReadonlyArray<string>) =>
        App.web({ method: "POST", path: "/api/chat", as: owner, json: { message: "", attachments } })
      const socket = yield* connectSocket({
        host: `127.0.0.1:${appUrl.port}`,
        path: `/agents/${owner.agent.id}/ws`,
        headers: { cookie: owner.cookie }
      })
      const turns = yield* receivedTurns(
        Effect.gen(function* () {
          assertError(yield* post(foreign), { status: 404, code: "attachment_not_found" })
          assertError(yield* post(), { status: 400, code: "message_invalid" })
          assert.strictEqual((yield* post(first)).status, 200)
          socket.send({ type: "chat", id: "foreign", message: "Read", attachments: [foreign] })
          const refused = yield* socket.until(({ id }) => id === "foreign")
          assert.deepInclude(refused, { type: "error", code: "attachment_not_found" })
          socket.send({ type: "chat", id: "own", message: "", attachments: [second] })
          yield* socket.until(({ type }) => type === "done")
        })
      )
      assert.deepStrictEqual(
        turns.map(({ message }) => message),
        ["Attached file a.txt:\n```\nfirst\n```", "Attached file b.txt:\n```\nsecond\n```"]
      )
    })
  )

  it.effect("The model receives an image of its agent's turn as data, and no image of another agent", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const stranger = yield* createOwnerWithAgent()
      const [own, foreign] = [yield* uploadId(owner, "a.png", png), yield* uploadId(stranger, "b.png", png)]
      const instances = yield* InstanceRepository
      const token = Redacted.value(yield* instances.ensureRuntimeToken(owner.user.id))
      const { backend } = yield* App.TestApp
      const models = yield* ModelProvidersTest
      const manager = yield* AgentManagerTest
      const callModel = ({ agentId, messageId }: Turn) =>
        backend({
          method: "POST",
          path: runtimeModelPath,
          headers: { authorization: `Bearer ${token}` },
          json: {
            agentId,
            messageId,
            model: platformModel,
            messages: [
              {
                role: "user",
                content: "Look",
                parts: [{ type: "text", text: "Look" }, makeImageReference(own), makeImageReference(foreign)]
              }
            ],
            tools: [],
            temperature: null,
            maxTokens: null
          }
        })
      const sendOnce = send(owner, { message: "Look" }).pipe(
        manager.withBehavior({
          chat: (_, turn) => Stream.concat(Stream.execute(callModel(turn)), Stream.make(doneEvent))
        })
      )
      const imagesSent = Effect.map(models.calls, (calls) => {
        const message = calls.at(-1)?.messages[0]
        return message?.role === "user" ? message.parts : undefined
      })
      yield* withVision(sendOnce)
      const text = { type: "text" as const, text: "Look" }
      assert.deepStrictEqual(yield* imagesSent, [
        text,
        { type: "image", source: { type: "data", mediaType: "image/png", data: png.toString("base64") } }
      ])
      // The conversation continues with a model without image input.
      yield* sendOnce
      assert.deepStrictEqual(yield* imagesSent, [text])
    })
  )

  it.effect("A message with an image to a model without image input is refused before anything is charged", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const image = yield* uploadId(owner, "dot.png", png)
      const refused = yield* send(owner, { message: "Look", attachments: [image] })
      assertError(refused, { status: 400, code: "images_not_supported" })
      assert.include(String(refused.body["message"]), "accepts no images")
      assert.strictEqual(yield* findUsedUnits(owner), 0)
      const text = yield* uploadId(owner, "a.txt", "a")
      assert.strictEqual((yield* send(owner, { message: "Read", attachments: [text] })).status, 200)
    })
  )

  it.effect("A streamed message with files is repeated by its key, though its files belong to it", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const id = yield* uploadId(owner, "notes.txt", "hello")
      const ask = App.web({
        method: "POST",
        path: "/api/agent",
        as: owner,
        json: { sessionId: owner.conversation, message: "read", attachments: [id] },
        headers: { accept: "text/event-stream", "idempotency-key": "once" }
      })
      const first = yield* ask
      assert.strictEqual(first.status, 200)
      assert.strictEqual((yield* ask).text, first.text)
    })
  )

  it.effect("A message names its own agent's attachments of no other conversation, within the limits", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const stranger = yield* createOwnerWithAgent()
      const [foreign, own] = [yield* uploadId(stranger, "a.txt", "a"), yield* uploadId(owner, "a.txt", "a")]
      const attach = (...attachments: ReadonlyArray<string>) => send(owner, { message: "Read", attachments })
      assertError(yield* attach(own, foreign), { status: 404, code: "attachment_not_found" })
      assertError(yield* attach("none"), { status: 404, code: "attachment_not_found" })
      assert.strictEqual((yield* attach(own, own)).status, 200)
      for (const message of ["", "   ", " \n\t"]) {
        assert.strictEqual((yield* send(owner, { message, attachments: [own] })).status, 200)
        const newest = yield* sql`
          select content from messages where user_id = ${owner.user.id} and sender = 'user' order by created_at desc, seq desc limit 1`
        assert.deepStrictEqual(newest, [{ content: "" }])
        assertError(yield* send(owner, { message }), { status: 400, code: "message_invalid" })
      }
      assert.strictEqual((yield* attach(own)).status, 200)
      const created = yield* send(owner, { action: "create-session" })
      const elsewhere = { message: "Read", attachments: [own], sessionId: created.body["sessionId"] }
      assertError(yield* send(owner, elsewhere), { status: 404, code: "attachment_not_found" })
      const many = yield* Effect.replicateEffect(uploadId(owner, "b.txt", "b"), attachmentLimits.files + 1)
      assertError(yield* attach(...many), { status: 400, code: "attachment_invalid" })
      const unread = Array.makeBy(attachmentLimits.files + 1, (n) => `att_${n}`)
      assertError(yield* attach(...unread), { status: 400, code: "attachment_invalid" })
      const large = yield* Effect.replicateEffect(uploadId(owner, "c.txt", "c".repeat(120_000)), 2)
      assertError(yield* attach(...large), { status: 400, code: "attachment_invalid" })
      assertError(yield* send(owner, { message: "", attachments: [] }), { status: 400, code: "message_invalid" })
      yield* leaveUnits(owner, 0)
      const used = yield* findUsedUnits(owner)
      assertError(yield* attach(own), { status: 402, code: "units_exhausted" })
      assert.strictEqual(yield* findUsedUnits(owner), used)
    })
  )

  it.effect("The bytes of an owner's attachments are limited over all agents, and a deleted agent frees its own", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const another = { ...owner, agent: yield* insertAgent(owner.user.id, { status: "running" }) }
      const kept = yield* uploadId(owner, "a.txt", "a")
      yield* sql`update attachments set size = ${attachmentLimits.ownerBytes - attachmentLimits.leastBytes} where id = ${kept}`
      assert.strictEqual((yield* upload(another, "b.txt", "bb")).status, 201)
      const refused = yield* upload(another, "c.txt", "c")
      assertError(refused, { status: 429, code: "attachment_limit_reached" })
      assert.strictEqual(refused.body["limit"], attachmentLimits.ownerBytes)
      assert.strictEqual((yield* upload(yield* createOwnerWithAgent(), "c.txt", "c")).status, 201)
      const deleted = yield* App.web({ method: "DELETE", path: `/api/agents/provision/${owner.agent.id}`, as: owner })
      assert.strictEqual(deleted.status, 200, deleted.text)
      assert.strictEqual(yield* countStored(owner), 0)
      assert.strictEqual((yield* upload(another, "c.txt", "c")).status, 201)
      assert.strictEqual(yield* countStored(another), 2)
    })
  )

  it.effect("A deleted account leaves no attachments, sent or not", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const [sent] = [yield* uploadId(owner, "a.txt", "a"), yield* uploadId(owner, "b.txt", "b")]
      assert.strictEqual((yield* send(owner, { message: "Read", attachments: [sent] })).status, 200)
      assert.strictEqual(yield* countStored(owner), 2)
      const deleted = yield* App.web({ method: "DELETE", path: "/api/settings", as: owner, json: { confirm: true } })
      assert.strictEqual(deleted.status, 200, deleted.text)
      assert.strictEqual(yield* countStored(owner), 0)
    })
  )

  it.effect("The files of an owner are limited in bytes, of which a small file takes some thousand", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const repository = yield* AttachmentRepository
      const insert = (id: string, size: number) =>
        repository.insert(
          { userId: owner.user.id, agentId: owner.agent.id },
          { id: AttachmentId.make(`${owner.agent.id}_${id}`), name: id, mediaType: "text/plain", size },
          Buffer.alloc(size, "a"),
          { ownerBytes: 10_000, leastBytes: attachmentLimits.leastBytes }
        )
      assert.isTrue(yield* insert("a", 1))
      assert.isFalse(yield* insert("b", 6_000))
      assert.isTrue(yield* insert("c", 1))
      assert.isFalse(yield* insert("d", 1))
    })
  )

  it.effect("Retention deletes old attachments that no message names, and no others", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const [sent, unsent] = [yield* uploadId(owner, "a.txt", "a"), yield* uploadId(owner, "b.txt", "b")]
      yield* send(owner, { message: "Read", attachments: [sent] })
      const { prune } = yield* AttachmentRepository
      yield* prune(DateTime.subtract(yield* DateTime.now, { days: 1 }))
      assert.strictEqual((yield* read(owner, unsent)).status, 200)
      yield* prune(DateTime.add(yield* DateTime.now, { minutes: 1 }))
      assert.strictEqual((yield* read(owner, unsent)).status, 404)
      assert.strictEqual((yield* read(owner, sent)).status, 200)
    })
  )
})
