import { Role, type SendMessageRequest, StreamResponse, type Task, TaskState } from "@a2a-js/sdk"
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory
} from "@a2a-js/sdk/client"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { makeSseParser } from "@berth/api/http/Sse"
import { makeWebhookHeaders } from "@berth/infra/webhooks/StandardWebhooksReceiver"
import { PushDispatch } from "@berth/domain/a2a/tasks/PushDispatch"
import type { TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { AgentId } from "@berth/domain/shared/AgentId"
import { taskLimits } from "@berth/domain/a2a/tasks/A2aTask"
import { type WebhookMessage, WebhookReceiver } from "@berth/domain/webhooks/WebhookReceiver"
import * as PushNotificationDelivery from "@berth/worker/a2a/PushNotificationDelivery"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Layer, Option, Predicate, Schema, Stream } from "effect"
import { Webhook } from "standardwebhooks"
import { eventually } from "../support/Eventually.ts"
import * as App from "../support/TestApp.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { withoutTraceId } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, exhaustUnits, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { findUsedUnits } from "./TurnFixtures.ts"

const bindings = ["JSONRPC", "HTTP+JSON"] as const
type Binding = (typeof bindings)[number]

const cardPath = ({ agent }: OwnerWithAgent) => `/agents/${agent.id}/.well-known/agent-card.json`

const connect = (binding: Binding, to: OwnerWithAgent, as: OwnerWithAgent = to) =>
  Effect.gen(function* () {
    const { webUrl } = yield* App.TestApp
    const { headers } = yield* createApiKey(as, "chat")
    const fetchImpl: typeof fetch = (input, init) =>
      fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } })
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [binding],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl })
    })
    return yield* Effect.promise(() => factory.createFromUrl(webUrl, cardPath(to)))
  })

const say = (
  text: string,
  {
    configuration,
    contextId = "",
    messageId = crypto.randomUUID(),
    taskId = ""
  }: {
    readonly contextId?: string
    readonly messageId?: string
    readonly taskId?: string
    readonly configuration?: Partial<SendMessageRequest["configuration"]>
  } = {}
): SendMessageRequest => ({
  tenant: "",
  metadata: undefined,
  message: {
    messageId,
    contextId,
    taskId,
    role: Role.ROLE_USER,
    parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: []
  },
  configuration: {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    returnImmediately: false,
    ...configuration
  }
})

const send = (client: Client, request: SendMessageRequest): Effect.Effect<Task> =>
  Effect.promise(async () => {
    const result = await client.sendMessage(request)
    if (!("artifacts" in result)) throw new Error("The result is no task")
    return result
  })
const get = (client: Client, id: string) => Effect.promise(() => client.getTask({ tenant: "", id }))

const failure = (call: () => Promise<unknown>) =>
  Effect.map(Effect.flip(Effect.tryPromise({ try: call, catch: (error) => error })), (error) =>
    error instanceof Error ? error.name : String(error)
  )

const textOf = ({ artifacts }: Pick<Task, "artifacts">) =>
  artifacts
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === "text" ? content.value : "")))
    .join("")

const readText = (events: ReadonlyArray<StreamResponse>) =>
  events.reduce((text, { payload }) => {
    if (payload?.$case !== "artifactUpdate" || payload.value.artifact === undefined) return text
    const added = textOf({ artifacts: [payload.value.artifact] })
    return payload.value.append ? text + added : added
  }, "")
const collect = (events: AsyncIterable<StreamResponse>) =>
  Effect.promise(async () => {
    const all: Array<StreamResponse> = []
    for await (const event of events) all.push(event)
    return all
  })

const allow = (receiver: OwnerWithAgent, ...senders: ReadonlyArray<string>) =>
  App.web({ method: "PUT", path: `/api/agents/${receiver.agent.id}/a2a/allow`, as: receiver, json: { allow: senders } })

/** An agent that streams "one ", and "two" after the gate has opened. */
const withGate =
  (gate: Deferred.Deferred<void>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(AgentManagerTest, ({ withBehavior }) =>
      withBehavior({
        chat: () =>
          Stream.make<[TurnEvent]>({ type: "delta", text: "one " }).pipe(
            Stream.concat(Stream.execute(Deferred.await(gate))),
            Stream.concat(
              Stream.make<[TurnEvent, TurnEvent]>(
                { type: "delta", text: "two" },
                { type: "done", reply: "one two", model: "sandbox/echo" }
              )
            )
          )
      })(effect)
    )

const raw = (as: OwnerWithAgent, to: OwnerWithAgent, method: string, path: string, json?: unknown, version = "1.0") =>
  App.web({
    method,
    path: `/agents/${to.agent.id}/a2a${path}`,
    as,
    headers: version === "" ? {} : { "a2a-version": version },
    ...(json === undefined ? {} : { json })
  })
const rpc = (as: OwnerWithAgent, to: OwnerWithAgent, method: string, params: unknown, version = "1.0") =>
  raw(as, to, "POST", "", { jsonrpc: "2.0", id: 7, method, params }, version)

/** The events of a stream of either binding with their ids. Ends when `isEnd` holds, or with the stream. */
const readEvents = (
  binding: Binding,
  owner: OwnerWithAgent,
  id: string,
  last: string,
  isEnd: (event: StreamResponse) => boolean
) =>
  Effect.flatMap(App.TestApp, ({ webUrl }) =>
    Effect.promise(async () => {
      const isRpc = binding === "JSONRPC"
      const response = await fetch(`${webUrl}/agents/${owner.agent.id}/a2a${isRpc ? "" : `/tasks/${id}:subscribe`}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "a2a-version": "1.0",
          "last-event-id": last,
          cookie: owner.cookie
        },
        ...(isRpc ? { body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "SubscribeToTask", params: { id } }) } : {})
      })
      const parser = makeSseParser()
      const events: Array<{ readonly id: string | undefined; readonly event: StreamResponse }> = []
      const body: AsyncIterable<Uint8Array> = response.body ?? assert.fail(String(response.status))
      for await (const bytes of body) {
        const parsed = parser.push(new TextDecoder().decode(bytes)).map(({ data, id: eventId }) => {
          const json: unknown = JSON.parse(data)
          const event = StreamResponse.fromJSON(isRpc && Predicate.isRecord(json) ? json["result"] : json)
          return { id: eventId, event }
        })
        events.push(...parsed)
        if (parsed.some(({ event }) => isEnd(event))) break
      }
      return events
    })
  )

const toReceiver = (post: WebhookReceiver["Type"]["post"]) => Layer.succeed(WebhookReceiver, { post })

const dispatchTo = (post: WebhookReceiver["Type"]["post"]) =>
  Effect.provide(PushDispatch, Layer.provide(PushDispatch.Default, toReceiver(post)))

const deliverPushes = (post: WebhookReceiver["Type"]["post"]) =>
  Effect.flatMap(dispatchTo(post), ({ attempt, claim }) => Effect.flatMap(claim(100), Effect.forEach(attempt)))

const configurePush = (client: Client, taskId: string, id: string, url: string) =>
  Effect.promise(() =>
    client.createTaskPushNotificationConfig({ tenant: "", taskId, id, url, token: "", authentication: undefined })
  )

const readPushPage = Schema.decodeUnknownOption(
  Schema.Struct({ configs: Schema.Array(Schema.Struct({ id: Schema.String })), nextPageToken: Schema.String })
)

layer(App.shared, { excludeTestServices: true })("The A2A protocol of an agent", (it) => {
  for (const binding of bindings) {
    it.effect(`${binding}: a message is a task with the reply, charged once, and continues its context`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect(binding, owner)
        const before = yield* findUsedUnits(owner)
        const request = say("hello")
        const task = yield* send(client, request)
        assert.strictEqual(task.status?.state, TaskState.TASK_STATE_COMPLETED)
        assert.strictEqual(textOf(task), "Echo: hello")
        assert.deepStrictEqual(yield* send(client, request), task)
        assert.deepStrictEqual(yield* get(client, task.id), task)
        const messageId = request.message?.messageId ?? ""
        const next = yield* send(client, say("again", { contextId: task.contextId, messageId }))
        assert.strictEqual(next.contextId, task.contextId)
        assert.strictEqual(yield* findUsedUnits(owner), before + 2)
        const { calls } = yield* AgentManagerTest
        const turns = (yield* calls).flatMap(({ target, turn }) =>
          target === owner.user.id && turn !== undefined ? [turn] : []
        )
        assert.deepStrictEqual(
          turns.map(({ history }) => history.length),
          [0, 2]
        )
        assert.strictEqual(yield* failure(() => client.getTask({ tenant: "", id: "tsk_none" })), "TaskNotFoundError")
        const list = yield* Effect.promise(() =>
          client.listTasks({
            tenant: "",
            contextId: task.contextId,
            status: TaskState.TASK_STATE_COMPLETED,
            pageSize: 1,
            pageToken: "",
            statusTimestampAfter: undefined,
            includeArtifacts: true
          })
        )
        assert.deepStrictEqual(
          [list.tasks.map(({ id }) => id), list.totalSize, list.nextPageToken === ""],
          [[next.id], 2, false]
        )
      })
    )

    it.effect(
      `${binding}: tasks are listed by the time of their state, newest first, on pages without repetitions`,
      () =>
        Effect.gen(function* () {
          const owner = yield* createOwnerWithAgent()
          const client = yield* connect(binding, owner)
          const sql = yield* SqlClient
          const tasks = yield* Effect.forEach(["first", "second", "third"], (text) => send(client, say(text)))
          const [first = "", second = "", third = ""] = tasks.map(({ id }) => id)
          const end = (id: string, at: string) => sql`update a2a_tasks set ended_at = ${at} where id = ${id}`
          const read = (pageToken: string) =>
            Effect.promise(() =>
              client.listTasks({
                tenant: "",
                contextId: "",
                status: TaskState.TASK_STATE_UNSPECIFIED,
                pageSize: 1,
                pageToken,
                statusTimestampAfter: undefined
              })
            )
          yield* end(first, "2100-01-02T00:00:00Z")
          // Two ends in a millisecond are in the order of the ids.
          yield* end(second, "2100-01-01T00:00:00.001200Z")
          yield* end(third, "2100-01-01T00:00:00.001100Z")
          const opening = yield* read("")
          yield* end(first, "2100-01-03T00:00:00Z")
          const next = yield* read(opening.nextPageToken)
          const last = yield* read(next.nextPageToken)
          assert.deepStrictEqual(
            [opening, next, last].map(({ tasks }) => tasks.map(({ id }) => id)),
            [[first], [third], [second]]
          )
          assert.strictEqual(last.nextPageToken, "")
          for (const status of ["TASK_STATE_REJECTED", "TASK_STATE_INPUT_REQUIRED"]) {
            const none = yield* raw(owner, owner, "GET", `/tasks?status=${status}`)
            assert.deepStrictEqual([none.status, none.body["tasks"]], [200, []])
          }
        })
    )

    it.effect(`${binding}: a repeated message that names a task is refused`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect(binding, owner)
        const messageId = crypto.randomUUID()
        const task = yield* send(client, say("hello", { messageId }))
        for (const [taskId, error] of [
          ["tsk_none", "TaskNotFoundError"],
          [task.id, "UnsupportedOperationError"]
        ] as const)
          for (let repetition = 0; repetition < 2; repetition += 1) {
            const again = failure(() => client.sendMessage(say("hello", { messageId, taskId })))
            assert.strictEqual(yield* again, error)
          }
        assert.deepStrictEqual(yield* send(client, say("hello", { messageId })), task)
      })
    )

    it.effect(`${binding}: a stream can be resumed by another client and ends with the reply`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { calls } = yield* AgentManagerTest
        const gate = yield* Deferred.make<void>()
        const client = yield* connect(binding, owner)
        const other = yield* connect(binding, owner)
        const [id, events] = yield* Effect.gen(function* () {
          const stream = client.sendMessageStream(say("count"))
          const opening = (yield* Effect.promise(() => stream.next())).value?.payload
          if (opening?.$case !== "task") return assert.fail("a stream begins with its task")
          assert.strictEqual(opening.value.status?.state, TaskState.TASK_STATE_WORKING)
          const resumed = other.resubscribeTask({ tenant: "", id: opening.value.id })
          const reopening = (yield* Effect.promise(() => resumed.next())).value?.payload
          assert.strictEqual(reopening?.$case, "task")
          yield* Deferred.succeed(gate, undefined)
          return [opening.value.id, yield* Effect.all([collect(stream), collect(resumed)])] as const
        }).pipe(withGate(gate))
        for (const received of events) {
          assert.strictEqual(readText(received), "one two")
          const last = received.at(-1)?.payload
          assert.strictEqual(
            last?.$case === "statusUpdate" ? last.value.status?.state : undefined,
            TaskState.TASK_STATE_COMPLETED
          )
        }
        assert.lengthOf(
          (yield* calls).filter(({ target }) => target === owner.user.id),
          1
        )
        assert.strictEqual(
          yield* failure(() => other.resubscribeTask({ tenant: "", id }).next()),
          "UnsupportedOperationError"
        )
      })
    )

    it.effect(
      `${binding}: a client that has lost its connection continues behind the last event that it has received`,
      () =>
        Effect.gen(function* () {
          const owner = yield* createOwnerWithAgent()
          const gate = yield* Deferred.make<void>()
          const client = yield* connect(binding, owner)
          const read = (id: string, last: string, isEnd: (event: StreamResponse) => boolean) =>
            readEvents(binding, owner, id, last, isEnd)
          const [id, first, rest] = yield* Effect.gen(function* () {
            const task = yield* send(client, say("count", { configuration: { returnImmediately: true } }))
            const first = yield* read(task.id, "", ({ payload }) => payload?.$case === "artifactUpdate")
            const last = first.at(-1)?.id ?? assert.fail("the event has no id")
            const rest = yield* read(task.id, last, ({ payload }) => {
              if (payload?.$case === "task") Deferred.unsafeDone(gate, Effect.void)
              return false
            })
            return [task.id, first, rest] as const
          }).pipe(withGate(gate))
          assert.strictEqual(readText(first.map(({ event }) => event)), "one ")
          assert.deepStrictEqual(
            rest.map(({ event: { payload } }) => payload?.$case),
            ["task", "artifactUpdate", "statusUpdate"]
          )
          const [opening] = rest
          assert.strictEqual(
            opening?.event.payload?.$case === "task" ? textOf(opening.event.payload.value) : undefined,
            "one "
          )
          assert.strictEqual(readText(rest.map(({ event }) => event)), "two")
          const [ended] = yield* read(id, rest[1]?.id ?? "", () => false)
          assert.strictEqual(
            ended?.event.payload?.$case === "task" ? textOf(ended.event.payload.value) : undefined,
            "one two"
          )
        })
    )

    it.effect(`${binding}: a canceled task ends its turn and is charged for nothing that it has not used`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect(binding, owner)
        const before = yield* findUsedUnits(owner)
        const gate = yield* Deferred.make<void>()
        const canceled = yield* Effect.gen(function* () {
          const task = yield* send(client, say("count", { configuration: { returnImmediately: true } }))
          assert.strictEqual(task.status?.state, TaskState.TASK_STATE_WORKING)
          return yield* Effect.promise(() => client.cancelTask({ tenant: "", id: task.id, metadata: undefined }))
        }).pipe(withGate(gate))
        assert.strictEqual(canceled.status?.state, TaskState.TASK_STATE_CANCELED)
        assert.strictEqual(yield* findUsedUnits(owner), before)
        const { id } = canceled
        const again = failure(() => client.cancelTask({ tenant: "", id, metadata: undefined }))
        assert.strictEqual(yield* again, "TaskNotCancelableError")
      })
    )

    it.effect(`${binding}: a push notification reports the end of a task once, signed with its token`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect(binding, owner)
        const config = { tenant: "", taskId: "", id: "mine", url: "https://receiver.example/", token: "secret" }
        const authentication = { scheme: "Bearer", credentials: "known to both" }
        const task = yield* send(
          client,
          say("hello", { configuration: { taskPushNotificationConfig: { ...config, authentication } } })
        )
        const stored = yield* Effect.promise(() =>
          client.createTaskPushNotificationConfig({
            ...config,
            taskId: task.id,
            id: "other",
            authentication: undefined
          })
        )
        assert.deepInclude(stored, { id: "other", taskId: task.id, url: config.url, token: "secret" })
        const names = Effect.map(
          Effect.promise(() =>
            client.listTaskPushNotificationConfig({ tenant: "", taskId: task.id, pageSize: 0, pageToken: "" })
          ),
          ({ configs }) => configs.map(({ id }) => id)
        )
        assert.deepStrictEqual(yield* names, ["mine", "other"])
        const mine = yield* Effect.promise(() =>
          client.getTaskPushNotificationConfig({ tenant: "", taskId: task.id, id: "mine" })
        )
        assert.notInclude(JSON.stringify(mine), "known to both")
        yield* Effect.promise(() =>
          client.deleteTaskPushNotificationConfig({ tenant: "", taskId: task.id, id: "other" })
        )
        assert.deepStrictEqual(yield* names, ["mine"])
        const removed = yield* App.web({
          method: "DELETE",
          path: `/agents/${owner.agent.id}/a2a/tasks/${task.id}/pushNotificationConfigs/other`,
          as: owner,
          headers: { "A2A-Version": "1.0" }
        })
        assert.deepStrictEqual([removed.status, removed.text], [200, "{}"])
        for (const id of [" two\nlines", "\u20ac"])
          yield* Effect.promise(() =>
            client.createTaskPushNotificationConfig({ ...config, taskId: task.id, id, authentication: undefined })
          )
        const posted: Array<{ readonly url: URL; readonly message: WebhookMessage }> = []
        const deliver = deliverPushes((url, message) =>
          Effect.as(
            Effect.sync(() => posted.push({ url, message })),
            204
          )
        )
        yield* deliver
        yield* deliver
        const ours = posted.filter(({ message }) => message.id.startsWith(`${task.id}:`))
        // Header values, and different for different ids.
        assert.deepStrictEqual(ours.map(({ message }) => message.id.slice(task.id.length)).toSorted(), [
          ":%20two%0Alines",
          ":%E2%82%AC",
          ":mine"
        ])
        const { message } = ours.find(({ message }) => message.id.endsWith(":mine")) ?? assert.fail("nothing was sent")
        assert.deepInclude(message.headers, {
          authorization: "Bearer known to both",
          "content-type": "application/a2a+json"
        })
        const payload = StreamResponse.fromJSON(JSON.parse(message.body)).payload
        assert.strictEqual(payload?.$case === "task" ? textOf(payload.value) : undefined, "Echo: hello")
        const headers = makeWebhookHeaders(message)
        new Webhook(`whsec_${btoa("secret")}`).verify(message.body, headers)
        const refused = failure(() =>
          client.createTaskPushNotificationConfig({
            ...config,
            taskId: task.id,
            url: "ftp://receiver.example/",
            authentication: undefined
          })
        )
        assert.strictEqual(yield* refused, "RequestMalformedError")
      })
    )

    it.effect(`${binding}: a push notification whose token HTTP does not permit in a header is refused`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect(binding, owner)
        const task = yield* send(client, say("hello"))
        const config = {
          tenant: "",
          taskId: task.id,
          id: "",
          url: "https://receiver.example/",
          authentication: undefined
        }
        for (const token of ["two\nlines", "\u20ac"])
          assert.strictEqual(
            yield* failure(() => client.createTaskPushNotificationConfig({ ...config, token })),
            "RequestMalformedError"
          )
      })
    )

    it.effect(`${binding}: a message that is sent again has one push notification`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect(binding, owner)
        const config = { tenant: "", taskId: "", id: "", url: "https://receiver.example/", token: "secret" }
        const taskPushNotificationConfig = { ...config, authentication: undefined }
        const request = say("hello", { configuration: { taskPushNotificationConfig } })
        const task = yield* send(client, request)
        for (let repetition = 0; repetition < 5; repetition += 1)
          assert.deepStrictEqual(yield* send(client, request), task)
        const { configs } = yield* Effect.promise(() =>
          client.listTaskPushNotificationConfig({ tenant: "", taskId: task.id, pageSize: 0, pageToken: "" })
        )
        assert.lengthOf(configs, 1)
      })
    )

    it.effect(`${binding}: concurrent calls create at most 5 push notifications of a task`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect(binding, owner)
        const task = yield* send(client, say("hello"))
        const config = { tenant: "", taskId: task.id, token: "", authentication: undefined }
        const create = (id: string) =>
          Effect.option(
            Effect.tryPromise(() =>
              client.createTaskPushNotificationConfig({ ...config, id, url: "https://receiver.example/" })
            )
          )
        yield* Effect.forEach(
          Array.from({ length: 20 }, (_, at) => `push${at}`),
          create,
          { concurrency: "unbounded" }
        )
        const { configs } = yield* Effect.promise(() =>
          client.listTaskPushNotificationConfig({ tenant: "", taskId: task.id, pageSize: 0, pageToken: "" })
        )
        assert.lengthOf(configs, 5)
      })
    )

    it.effect(`${binding}: push notifications of a task are listed on pages, also if those of a page are removed`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect(binding, owner)
        const { id: taskId } = yield* send(client, say("hello"))
        for (const id of ["a", "b c", "\u20ac"]) yield* configurePush(client, taskId, id, "https://receiver.example/")
        const read = (page: Readonly<Record<string, string | number>>) => {
          const query = Object.entries(page).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
          return binding === "JSONRPC"
            ? rpc(owner, owner, "ListTaskPushNotificationConfigs", { taskId, ...page })
            : raw(owner, owner, "GET", `/tasks/${taskId}/pushNotificationConfigs?${query.join("&")}`)
        }
        const readPage = (page: Readonly<Record<string, string | number>>) =>
          Effect.map(read(page), ({ body, text }) => {
            const result = readPushPage(binding === "JSONRPC" ? body["result"] : body)
            if (Option.isNone(result)) return assert.fail(text)
            const { configs, nextPageToken } = result.value
            return { ids: configs.map(({ id }) => id), nextPageToken }
          })
        const first = yield* readPage({ pageSize: 1 })
        assert.deepStrictEqual(first.ids, ["a"])
        yield* Effect.promise(() => client.deleteTaskPushNotificationConfig({ tenant: "", taskId, id: "a" }))
        const second = yield* readPage({ pageSize: 1, pageToken: first.nextPageToken })
        assert.deepStrictEqual(second.ids, ["b c"])
        const last = yield* readPage({ pageSize: 1, pageToken: second.nextPageToken })
        assert.deepStrictEqual(last, { ids: ["\u20ac"], nextPageToken: "" })
        assert.deepStrictEqual(yield* readPage({ pageSize: 0, pageToken: "" }), {
          ids: ["b c", "\u20ac"],
          nextPageToken: ""
        })
        assert.deepStrictEqual((yield* readPage({ pageSize: 1_000 })).ids, ["b c", "\u20ac"])
        for (const page of [{ pageToken: "none" }, { pageSize: -1 }, { pageSize: 0.5 }]) {
          const { body, status, text } = yield* read(page)
          assert.strictEqual(status, binding === "JSONRPC" ? 200 : 400, text)
          assert.propertyVal(body["error"], "code", binding === "JSONRPC" ? -32602 : 400, text)
        }
      })
    )

    it.effect(`${binding}: messages that are refused leave no conversations to the owner`, () =>
      Effect.gen(function* () {
        const [owner, caller] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
        yield* allow(owner, caller.user.id)
        const client = yield* connect(binding, owner, caller)
        yield* exhaustUnits(owner)
        const sql = yield* SqlClient
        const count = Effect.map(
          Effect.orDie(sql`select id from chat_sessions where user_id = ${owner.user.id}`),
          (rows) => rows.length
        )
        const before = yield* count
        yield* failure(() => client.sendMessage(say("hello")))
        assert.strictEqual(yield* count, before)
      })
    )

    it.effect(`${binding}: an agent that does not allow the caller answers as one that does not exist`, () =>
      Effect.gen(function* () {
        const [receiver, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
        const card = App.web({ method: "GET", path: cardPath(receiver), as: stranger })
        const none = { ...receiver, agent: { ...receiver.agent, id: AgentId.make("agt_0") } }
        const anonymous = yield* App.web({ method: "GET", path: cardPath(receiver) })
        assert.strictEqual((yield* card).status, 404)
        assert.strictEqual(withoutTraceId(anonymous), withoutTraceId(yield* card))
        const ask = (to: OwnerWithAgent) => rpc(stranger, to, "GetTask", { id: "tsk_0" })
        assert.strictEqual((yield* ask(receiver)).status, 404)
        assert.strictEqual(withoutTraceId(yield* ask(receiver)), withoutTraceId(yield* ask(none)))
        yield* allow(receiver, stranger.agent.id)
        const client = yield* connect(binding, receiver, stranger)
        const before = [yield* findUsedUnits(receiver), yield* findUsedUnits(stranger)]
        const task = yield* send(client, say("hello"))
        assert.include(textOf(task), `(${stranger.user.id}):\n\nhello`)
        const used = [yield* findUsedUnits(receiver), yield* findUsedUnits(stranger)]
        assert.deepStrictEqual(used, [(before[0] ?? 0) + 1, before[1]])
        const own = yield* connect(binding, receiver)
        assert.strictEqual(yield* failure(() => own.getTask({ tenant: "", id: task.id })), "TaskNotFoundError")
        yield* allow(receiver)
        assert.strictEqual((yield* card).status, 404)
      })
    )
  }

  it.effect("The card of an agent names its interfaces, schemes and skills, and is revalidated by its tag", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const get = (headers: Readonly<Record<string, string>> = {}) =>
        App.web({ method: "GET", path: cardPath(owner), as: owner, headers })
      const card = yield* get()
      const url = new URL(`/agents/${owner.agent.id}/a2a`, appUrl).href
      assert.deepInclude(card.body, {
        name: owner.agent.name,
        capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
        supportedInterfaces: bindings.map((protocolBinding) => ({ url, protocolBinding, protocolVersion: "1.0" }))
      })
      assert.hasAllKeys(card.body["securitySchemes"], ["apiKey", "gatewayToken"])
      assert.match(card.headers["cache-control"] ?? "", /^private/)
      const known = yield* get({ "if-none-match": card.headers["etag"] ?? "" })
      assert.deepStrictEqual([known.status, known.text, known.headers["etag"]], [304, "", card.headers["etag"]])
      const extended = yield* rpc(owner, owner, "GetExtendedAgentCard", undefined)
      assert.include(extended.text, '"id":"conversation"')
    })
  )

  it.effect("An agent accepts only the gateway token of its own instance", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const ask = (as: OwnerWithAgent) =>
        Effect.gen(function* () {
          const { body } = yield* App.web({ method: "GET", path: `/api/instance/${as.user.id}/token`, as })
          const headers = { authorization: `Bearer ${String(body["token"])}` }
          return (yield* App.web({ method: "GET", path: cardPath(owner), headers })).status
        })
      assert.deepStrictEqual([yield* ask(owner), yield* ask(stranger)], [200, 401])
    })
  )

  it.effect("Errors of the JSON-RPC binding have the codes of the protocol and the id of the request", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] }
      const cases = [
        ["GetTask", { id: "tsk_0" }, "1.0", -32001],
        ["CancelTask", { id: "tsk_0" }, "1.0", -32001],
        ["Unknown", {}, "1.0", -32601],
        ["GetTask", {}, "1.0", -32602],
        ["SendMessage", { message: { ...message, parts: [] } }, "1.0", -32602],
        ["SendMessage", { message: { ...message, role: "ROLE_AGENT" } }, "1.0", -32602],
        ["SendMessage", { message: { ...message, parts: [{ url: "https://a.example/b.png" }] } }, "1.0", -32005],
        ["SendMessage", { message, configuration: { acceptedOutputModes: ["image/png"] } }, "1.0", -32005],
        ["SendMessage", { message: { ...message, taskId: "tsk_0" } }, "1.0", -32001],
        ["ListTasks", { pageToken: "tsk_0" }, "1.0", -32602],
        ["ListTasks", { pageToken: "999999999999999:" }, "1.0", -32602],
        ["ListTasks", { statusTimestampAfter: "-1" }, "1.0", -32602],
        ["ListTasks", { status: "TASK_STATE_FOO" }, "1.0", -32602],
        ["GetTask", { id: "tsk_0", historyLength: -1 }, "1.0", -32602],
        ["GetTask", { id: "tsk_0", historyLength: 2_147_483_647 }, "1.0", -32001],
        ["GetTaskPushNotificationConfig", { task_id: "tsk_0", id: "none" }, "1.0", -32001],
        ["GetTask", { id: "tsk_0", unknown_: 1 }, "1.0", -32001],
        ["GetTask", { id: "tsk_0" }, "1.0.1", -32001],
        ["GetTask", { id: "tsk_0" }, "1.0.x", -32009],
        ["GetTask", { id: "tsk_0" }, "1.1.0", -32009],
        ["GetTask", { id: "tsk_0" }, "0.3", -32009],
        // A request of a client of version 0.3.
        ["message/send", { message: { ...message, kind: "message", role: "user" } }, "", -32009]
      ] as const
      for (const [method, params, version, code] of cases) {
        const { body, headers, status, text } = yield* rpc(owner, owner, method, params, version)
        assert.deepStrictEqual([status, body["jsonrpc"], body["id"]], [200, "2.0", 7], text)
        assert.strictEqual(headers["content-type"], "application/json")
        assert.propertyVal(body["error"], "code", code, text)
      }
      const empty = yield* rpc(owner, owner, "SendMessage", { message: { ...message, parts: [] } })
      assert.include(empty.text, "params.message.parts: must not be empty")
      const path = `/agents/${owner.agent.id}/a2a`
      const malformed = yield* App.web({
        method: "POST",
        path,
        as: owner,
        body: "{",
        headers: { "content-type": "application/json" }
      })
      assert.propertyVal(malformed.body["error"], "code", -32700, malformed.text)
      const invalid = [
        [],
        { jsonrpc: "2.0", id: {} },
        { jsonrpc: "1.0", id: 7, method: "ListTasks" },
        { jsonrpc: "2.0", id: "a" }
      ]
      const ids = yield* Effect.forEach(invalid, (json) =>
        Effect.map(App.web({ method: "POST", path, as: owner, json }), ({ body, text }) => {
          assert.propertyVal(body["error"], "code", -32600, text)
          return body["id"]
        })
      )
      assert.deepStrictEqual(ids, [null, null, 7, "a"])
      yield* exhaustUnits(owner)
      const unpaid = yield* rpc(owner, owner, "SendMessage", { message })
      assert.deepStrictEqual([unpaid.status, unpaid.body["id"]], [402, 7], unpaid.text)
      const sql = yield* SqlClient
      assert.lengthOf(yield* sql`select from a2a_tasks where agent_id = ${owner.agent.id}`, 0)
    })
  )

  it.effect("Successes of the HTTP+JSON binding have its content type", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] }
      const sent = yield* raw(owner, owner, "POST", "/message:send", { message }, "1.0")
      const listed = yield* raw(owner, owner, "GET", "/tasks", undefined, "1.0")
      for (const { headers, status, text } of [sent, listed])
        assert.deepStrictEqual([status, headers["content-type"]], [200, "application/a2a+json"], text)
    })
  )

  it.effect("Errors of the HTTP+JSON binding have the statuses and reasons of the protocol", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ raw: "AA==" }] }
      const cases = [
        ["GET", "/tasks/tsk_0", undefined, "1.0", 404, "TASK_NOT_FOUND"],
        ["POST", "/tasks/tsk_0:cancel", undefined, "1.0.0", 404, "TASK_NOT_FOUND"],
        ["POST", "/tasks/tsk_0:dance", undefined, "1.0", 404, "METHOD_NOT_FOUND"],
        ["POST", "/message:foo", {}, "1.0", 404, "METHOD_NOT_FOUND"],
        ["POST", "/message:foo", { message }, "1.0", 404, "METHOD_NOT_FOUND"],
        ["POST", "/message:send", { message }, "1.0", 400, "CONTENT_TYPE_NOT_SUPPORTED"],
        ["POST", "/message:send", {}, "1.0", 400, "INVALID_PARAMS"],
        ["GET", "/tasks?pageSize=0", undefined, "1.0", 400, "INVALID_PARAMS"],
        ["GET", "/tasks?pageSize=1e1", undefined, "1.0", 400, "INVALID_PARAMS"],
        ["GET", "/tasks?pageToken=tsk_0", undefined, "1.0", 400, "INVALID_PARAMS"],
        ["GET", "/tasks?statusTimestampAfter=1", undefined, "1.0", 400, "INVALID_PARAMS"],
        ["GET", "/tasks?status=TASK_STATE_FOO", undefined, "1.0", 400, "INVALID_PARAMS"],
        ["GET", "/tasks", undefined, "", 400, "VERSION_NOT_SUPPORTED"]
      ] as const
      for (const [method, path, json, version, status, reason] of cases) {
        const answer = yield* raw(owner, owner, method, path, json, version)
        assert.strictEqual(answer.status, status, answer.text)
        assert.strictEqual(answer.headers["content-type"], "application/a2a+json")
        assert.include(answer.text, `"reason":"${reason}"`)
        assert.propertyVal(answer.body["error"], "code", status)
      }
    })
  )

  it.effect("A push notification to a loopback address is created, as its documentation states", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { id } = yield* send(yield* connect("JSONRPC", owner), say("hello"))
      const path = `/tasks/${id}/pushNotificationConfigs`
      const created = yield* raw(owner, owner, "POST", path, { url: "https://127.0.0.1/" })
      assert.strictEqual(created.status, 201, created.text)
      const { text } = yield* App.web({ method: "GET", path: "/openapi.json" })
      assert.include(text, "Private and loopback addresses are refused at delivery.")
      assert.notInclude(text, "Private and loopback addresses are rejected.")
    })
  )

  it.effect("A canceled task is logged as information, and as no error", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const client = yield* connect("JSONRPC", owner)
      const gate = yield* Deferred.make<void>()
      yield* Effect.gen(function* () {
        const { id } = yield* send(client, say("count", { configuration: { returnImmediately: true } }))
        yield* Effect.promise(() => client.cancelTask({ tenant: "", id, metadata: undefined }))
      }).pipe(withGate(gate))
      const { logLines } = yield* App.TestApp
      const lines = (yield* logLines).filter((line) => line.includes(owner.agent.id))
      const logged = lines.filter((line) => line.includes('"reason":"the message was canceled"'))
      assert.lengthOf(logged, 1)
      assert.include(logged[0], '"message":"Message canceled","logLevel":"INFO"')
      assert.notInclude(lines.join("\n"), '"logLevel":"ERROR"')
    })
  )

  it.effect("Push notifications of a caller end when the agent no longer allows it, and when they are removed", () =>
    Effect.gen(function* () {
      const [owner, caller] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      yield* allow(owner, caller.agent.id)
      const client = yield* connect("JSONRPC", owner, caller)
      const task = yield* send(client, say("hello"))
      const url = "https://receiver.example/ended"
      const posted: Array<string> = []
      const deliver = deliverPushes(({ href }, { id }) =>
        Effect.as(
          Effect.sync(() => posted.push(`${href} ${id}`)),
          500
        )
      )
      yield* configurePush(client, task.id, "first", url)
      yield* deliver
      assert.include(posted, `${url} ${task.id}:first`)
      yield* configurePush(client, task.id, "second", url)
      yield* configurePush(client, task.id, "removed", url)
      yield* Effect.promise(() =>
        client.deleteTaskPushNotificationConfig({ tenant: "", taskId: task.id, id: "removed" })
      )
      yield* allow(owner)
      const sql = yield* SqlClient
      yield* sql`update a2a_push_notifications set due_at = now() - interval '1 second' where task_id = ${task.id}`
      yield* deliver
      assert.lengthOf(
        posted.filter((one) => one.startsWith(url)),
        1
      )
      assert.deepStrictEqual(yield* sql`select status from a2a_push_notifications where task_id = ${task.id}`, [
        { status: "failed" },
        { status: "failed" }
      ])
    })
  )

  it.effect(
    "A push notification whose secrets cannot be decrypted fails at once and delays no other of its claim",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const client = yield* connect("JSONRPC", owner)
        const task = yield* send(client, say("hello"))
        yield* configurePush(client, task.id, "broken", "https://receiver.example/broken")
        yield* configurePush(client, task.id, "whole", "https://receiver.example/whole")
        const sql = yield* SqlClient
        yield* sql`update a2a_push_notifications set secrets_sealed = 'nonsense' where task_id = ${task.id} and id = 'broken'`
        const posted: Array<string> = []
        yield* deliverPushes((_url, { id }) =>
          Effect.as(
            Effect.sync(() => posted.push(id)),
            204
          )
        )
        assert.deepStrictEqual(
          posted.filter((id) => id.startsWith(task.id)),
          [`${task.id}:whole`]
        )
        assert.deepStrictEqual(
          yield* sql`select id, status, failure from a2a_push_notifications where task_id = ${task.id} order by id`,
          [
            { id: "broken", status: "failed", failure: "Its secrets cannot be decrypted." },
            { id: "whole", status: "delivered", failure: null }
          ]
        )
      })
  )

  it.effect("A push notification that is replaced during an attempt ignores that attempt's result", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const client = yield* connect("JSONRPC", owner)
      const task = yield* send(client, say("hello"))
      const post: WebhookReceiver["Type"]["post"] = ({ pathname }) => Effect.succeed(pathname === "/old" ? 204 : 500)
      const { attempt, claim } = yield* dispatchTo(post)
      const claimOne = Effect.map(
        claim(100),
        (claimed) => claimed.find(({ notification }) => notification.taskId === task.id) ?? assert.fail("not claimed")
      )
      yield* configurePush(client, task.id, "one", "https://receiver.example/old")
      const before = yield* claimOne
      yield* configurePush(client, task.id, "one", "https://receiver.example/new")
      const after = yield* claimOne
      yield* attempt(before)
      yield* attempt(after)
      const sql = yield* SqlClient
      assert.deepStrictEqual(
        yield* sql`select status, failure from a2a_push_notifications where task_id = ${task.id}`,
        [{ status: "pending", failure: "status 500" }]
      )
    })
  )

  it.effect("Receivers that do not respond delay the push notifications of no other caller", () =>
    Effect.gen(function* () {
      const [slow, other] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const gate = yield* Deferred.make<void>()
      const posted: Array<string> = []
      const post: WebhookReceiver["Type"]["post"] = ({ pathname }) =>
        Effect.as(
          Effect.zipRight(
            Effect.sync(() => posted.push(pathname)),
            pathname === "/slow" ? Deferred.await(gate) : Effect.void
          ),
          204
        )
      const isPosted = (path: string, count: number) =>
        eventually(
          Effect.sync(() => posted.filter((one) => one === path).length),
          (times) => times === count
        )
      const push = (owner: OwnerWithAgent, path: string) =>
        Effect.gen(function* () {
          const client = yield* connect("JSONRPC", owner)
          const { id } = yield* send(client, say("hello"))
          const ids = path === "/slow" ? ["1", "2", "3", "4", "5"] : ["1"]
          yield* Effect.forEach(ids, (name) => configurePush(client, id, name, `https://receiver.example${path}`))
        })
      yield* Effect.gen(function* () {
        yield* push(slow, "/slow")
        yield* isPosted("/slow", 2)
        yield* push(other, "/other")
        yield* isPosted("/other", 1)
        assert.lengthOf(
          posted.filter((path) => path === "/slow"),
          2
        )
        yield* Deferred.succeed(gate, undefined)
        yield* isPosted("/slow", 5)
      }).pipe(Effect.provide(Layer.provide(PushNotificationDelivery.layer, toReceiver(post))))
    })
  )

  it.effect("A claim of push notifications takes no time by the square of those that are due", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { id } = yield* send(yield* connect("JSONRPC", owner), say("hello"))
      const { claim } = yield* dispatchTo(() => Effect.succeed(204))
      const sql = yield* SqlClient
      yield* sql`
        insert into a2a_push_notifications (task_id, id, url, due_at, created_at)
        select ${id}, n::text, 'https://receiver.example', now(), now() from generate_series(1, 30000) n`
      const claimed = yield* Effect.zipRight(sql`set local statement_timeout = '10s'`, claim(16)).pipe(
        sql.withTransaction,
        Effect.ensuring(Effect.orDie(sql`delete from a2a_push_notifications where task_id = ${id}`))
      )
      assert.lengthOf(
        claimed.filter(({ task }) => task.id === id),
        2
      )
    })
  )

  it.effect("Ended tasks of one caller do not push out those of another one", () =>
    Effect.gen(function* () {
      const [owner, caller] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      yield* allow(owner, caller.user.id)
      const client = yield* connect("JSONRPC", owner, caller)
      const own = yield* connect("JSONRPC", owner)
      const oldest = yield* send(own, say("mine"))
      const { id } = yield* send(client, say("theirs"))
      const sql = yield* SqlClient
      yield* sql`
        with turn as (select m.* from messages m join a2a_tasks t on t.turn_id = m.id where t.id = ${id}),
        copies as (
          insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
          select 'msg_' || md5(${id} || n), session_id, user_id, agent_id, seq + 1 + n, sender, content, platform, state,
            created_at
          from turn cross join generate_series(1, ${taskLimits.ended}) n returning id
        )
        insert into a2a_tasks (id, agent_id, caller_id, context_id, client_message_id, content, turn_id, state, created_at,
          ended_at)
        select 'tsk_' || md5(copies.id), agent_id, caller_id, context_id, copies.id, t.content, copies.id, t.state,
          t.created_at, t.ended_at
        from a2a_tasks t cross join copies where t.id = ${id}`
      yield* send(client, say("once more"))
      assert.deepStrictEqual(
        yield* sql`
          select caller_id, count(*)::int as count from a2a_tasks where agent_id = ${owner.agent.id} and ended_at is not null
          group by caller_id order by count`,
        [
          { callerId: owner.user.id, count: 1 },
          { callerId: caller.user.id, count: taskLimits.ended + 1 }
        ]
      )
      assert.deepStrictEqual(yield* get(own, oldest.id), oldest)
    })
  )

  it.effect("A task whose process was killed ends as failed with the recovery of its turn", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const client = yield* connect("JSONRPC", owner)
      const task = yield* send(client, say("hello"))
      const sql = yield* SqlClient
      yield* sql`update a2a_tasks set state = 'working', ended_at = null where id = ${task.id}`
      const turn = sql`(select turn_id from a2a_tasks where id = ${task.id})`
      yield* sql`update messages set state = 'pending' where id = ${turn}`
      assert.strictEqual((yield* get(client, task.id)).status?.state, TaskState.TASK_STATE_WORKING)
      yield* sql`update messages set state = 'failed' where id = ${turn}`
      assert.strictEqual((yield* get(client, task.id)).status?.state, TaskState.TASK_STATE_FAILED)
    })
  )
})
