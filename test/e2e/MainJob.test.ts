import { assert, layer } from "@effect/vitest"
import { Cookies } from "@effect/platform"
import { Array, Chunk, Context, Effect, Layer, Option, Redacted, Stream } from "effect"
import { randomBytes } from "node:crypto"
import { eventually } from "../support/Eventually.ts"
import { lintTrace } from "../support/SpanLint.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { readAllRuntimeTraces, listRuntimeProcesses, readProcessEnvironment } from "./RuntimeProcesses.ts"
import { type FakeOtelCollector, makeFakeOtelCollector } from "../fakes/FakeOtelCollector.ts"
import { sortedKeysOf, runMainJob, memberAt, textOrEmpty } from "./MainJobSteps.ts"
import { type Berth, startBerth } from "./BerthProcess.ts"
import * as Records from "./ServiceDatabase.ts"
import { type TestAccount, type SignedUpClient, signUpClient, openWebClient } from "./WebClient.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { assertMatches } from "../support/Matching.ts"

const owner: TestAccount = { email: "owner@berth.local", password: "the-owner's-own-9f3" }

const secretKey = randomBytes(32).toString("base64")
const secrets = {
  INTERNAL_API_KEY: `internal-${randomBytes(12).toString("hex")}`,
  SECRETS_KEYS: `current:${secretKey}`
}

class Service extends Context.Tag("@berth/test/MainJobService")<
  Service,
  { readonly berth: Berth; readonly collector: FakeOtelCollector; readonly databaseUrl: Redacted.Redacted }
>() {}

const service = Layer.unwrapScoped(
  Effect.gen(function* () {
    const databaseUrl = yield* migratedDatabase
    const spans = yield* makeFakeOtelCollector
    const berth = yield* startBerth({
      databaseUrl,
      environment: {
        ...secrets,
        OTEL_EXPORTER_OTLP_ENDPOINT: spans.url,
        LOG_LEVEL: "debug",
        LIMIT_REGISTER: "1000/1h",
        // The discard port: tests do not read the public model list.
        OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1",
        LIMIT_SIGN_IN: "1000/1h"
      }
    })
    return Layer.merge(Layer.succeed(Service, { berth, collector: spans, databaseUrl }), Records.layer(databaseUrl))
  })
)

const webUrl = Effect.map(Service, ({ berth }) => berth.webUrl)

/** A new user on a plan. */
const subscriber = (plan: "starter" | "pro") =>
  Effect.gen(function* () {
    const person = yield* signUpClient(yield* webUrl, plan)
    yield* Records.insertSubscription(person.userId, plan)
    return person
  })

const many = { concurrency: "unbounded" } as const

layer(service, { timeout: "120 seconds", excludeTestServices: true })("the main job", (it) => {
  it.effect(
    "The main job works from sign-up to deletion",
    Effect.fn(function* () {
      const visitor = yield* openWebClient(yield* webUrl)
      const registered = yield* visitor.raw("POST", "/api/register", { body: owner })
      assert.containSubset(registered, { status: 200, body: { email: owner.email, name: owner.email } })
      assert.deepStrictEqual(sortedKeysOf(registered.body), ["email", "id", "name"])
      assert.containSubset(yield* visitor.raw("POST", "/api/register", { body: owner }), { status: 409 })
      assert.containSubset(yield* visitor.raw("GET", "/api/settings"), { status: 401 })
      const signedIn = yield* visitor.raw("POST", "/api/auth/callback/credentials", { body: owner })
      assert.containSubset(signedIn, { status: 200, body: { user: { email: owner.email }, url: "/dashboard" } })
      assert.deepStrictEqual(sortedKeysOf(signedIn.body), ["url", "user"])
      const userId = UserId.make(textOrEmpty(memberAt(registered.body, "id")))
      yield* runMainJob({ ...visitor, account: owner, userId })
      // Administrators pay no units.
      assert.containSubset(yield* Records.readMessageAccounts(userId), {
        answered: 5,
        replies: 5,
        pending: 0,
        used: 0,
        open: 0
      })
    })
  )

  it.effect(
    "The service requires a subscription, and isolates owners",
    Effect.fn(function* () {
      const url = yield* webUrl
      const [one, other] = yield* Effect.all([signUpClient(url, "one"), signUpClient(url, "other")], many)
      assert.containSubset(yield* one.raw("POST", "/api/agents/provision", { body: { name: "Ada" } }), {
        status: 402,
        body: { code: "subscription_required" }
      })
      yield* Records.insertSubscription(one.userId, "starter")
      const agent = yield* one.provision("Ada")
      yield* one.untilRunning(agent.id)
      const { sessionId } = yield* one.chat("A secret of mine")

      assert.containSubset(yield* other.raw("GET", `/api/agents/${agent.id}`), { status: 404 })
      assert.containSubset(yield* other.raw("GET", `/api/agent?action=session&sessionId=${sessionId}`), { status: 404 })
      const message = { message: "Let me in", sessionId }
      assert.containSubset(yield* other.raw("POST", "/api/agent", { body: message }), { status: 404 })
      const byAgent = { message: "Let me in", agentId: agent.id }
      assert.containSubset(yield* other.raw("POST", "/api/agent", { body: byAgent }), { status: 404 })
      assertMatches(yield* other.raw("GET", "/api/agents"), { body: { agents: [], count: 0 } })
      assertMatches(yield* other.raw("GET", "/api/chat"), { body: { messages: [], count: 0 } })
      for (const [method, verb] of [
        ["GET", ""],
        ["GET", "/token"],
        ["POST", "/start"],
        ["POST", "/stop"],
        ["POST", "/restart"]
      ] as const)
        assert.containSubset(yield* other.raw(method, `/api/instance/${one.userId}${verb}`), {
          status: 403,
          body: { success: false, status: "error" }
        })
      assert.strictEqual((yield* one.chat("Still here?")).sessionId, sessionId)
    })
  )

  it.effect(
    "The service respects the plan's limit and creates one agent per key under concurrent requests",
    Effect.fn(function* () {
      const [starter, pro, keyed] = yield* Effect.all(
        [subscriber("starter"), subscriber("pro"), subscriber("pro")],
        many
      )
      const ask = (person: SignedUpClient, headers = {}) =>
        person.raw("POST", "/api/agents/provision", { body: { name: "Ada" }, headers })
      for (const [person, limit] of [
        [starter, 1],
        [pro, 3]
      ] as const) {
        const answers = yield* Effect.all(
          Array.makeBy(20, () => ask(person)),
          many
        )
        assert.lengthOf(
          answers.filter(({ status }) => status === 201),
          limit
        )
        for (const { body, status } of answers)
          if (status !== 201) {
            assert.strictEqual(status, 429)
            assert.containSubset(body, { code: "plan_limit_reached", current: limit, limit })
          }
        assert.strictEqual((yield* person.api.agents.list()).count, limit)
      }
      const repeated = yield* Effect.all(
        Array.makeBy(10, () => ask(keyed, { "idempotency-key": "only-once" })),
        many
      )
      assert.deepStrictEqual(
        repeated.map(({ status }) => status),
        repeated.map(() => 201)
      )
      assert.strictEqual(new Set(repeated.map(({ body }) => memberAt(body, "agent", "id"))).size, 1)
      assert.strictEqual((yield* keyed.api.agents.list()).count, 1)
      for (const person of [starter, pro, keyed])
        for (const { id } of (yield* person.api.agents.list()).agents) yield* person.untilRunning(id)
    })
  )

  it.effect(
    "The service answers until the daily units are used, and loses no message then",
    Effect.fn(function* () {
      const person = yield* subscriber("starter")
      yield* Records.setUsedUnits(person.userId, 47)
      const agent = yield* person.provision("Ada")
      yield* person.untilRunning(agent.id)
      // Three of fifty units remain for five concurrent requests.
      const answers = yield* Effect.all(
        Array.makeBy(5, (n) => person.raw("POST", "/api/agent", { body: { message: `Message ${n}` } })),
        many
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 200, 200, 402, 402]
      )
      const refused = yield* person.raw("POST", "/api/chat", { body: { message: "One more" } })
      assert.containSubset(refused, {
        status: 402,
        body: { error: "payment_required", code: "units_exhausted", units: 1, remaining: 0 }
      })
      assert.containSubset(yield* person.raw("GET", "/api/chat"), { body: { count: 6 } })
      assert.deepStrictEqual(yield* Records.readMessageAccounts(person.userId), {
        answered: 3,
        pending: 0,
        failed: 0,
        replies: 3,
        used: 50,
        booked: 3,
        open: 0,
        ledger: 3
      })
    })
  )

  it.effect(
    "The service completes an answer after its client has left",
    Effect.fn(function* () {
      const person = yield* subscriber("starter")
      const { id } = yield* person.provision("Ada")
      yield* person.untilRunning(id)
      const [first] = Chunk.toReadonlyArray(
        yield* Stream.runCollect(Stream.take(person.events("/api/agent", { message: "I am off" }), 1))
      )
      assert.containSubset(first, { event: "delta" })
      yield* eventually(
        Records.readMessageAccounts(person.userId),
        ({ answered, used }) => answered === 1 && used === 1,
        {
          description: "the answer is stored and settled"
        }
      )
      assert.containSubset(yield* person.raw("GET", "/api/chat"), { body: { count: 2 } })
    })
  )

  it.effect(
    "The instance ends in the state of the last of many lifecycle calls",
    Effect.fn(function* () {
      const person = yield* subscriber("pro")
      const act = (verb: string) => person.raw("POST", `/api/instance/${person.userId}/${verb}`)
      const { id } = yield* person.provision("Ada")
      assert.containSubset(yield* act("stop"), { status: 200 })
      const { id: second } = yield* person.provision("Grace")
      yield* person.untilRunning(second)
      assert.deepStrictEqual([yield* person.statusOf(id), yield* person.statusOf(second)], ["stopped", "running"])

      const orders = Array.makeBy(12, (n) => ["start", "stop", "restart"][n % 3] ?? "start")
      const [answers] = yield* Effect.all(
        [
          Effect.forEach(orders, act, many),
          Effect.forEach(Array.makeBy(6, String), (message) => person.raw("POST", "/api/agent", { body: { message } }))
        ],
        many
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        answers.map(() => 200)
      )
      const { status } = yield* person.api.instances.find({ path: { userId: person.userId } })
      assert.deepStrictEqual([yield* person.statusOf(id), yield* person.statusOf(second)], [status, status])
      assert.lengthOf(yield* listRuntimeProcesses(person.userId), status === "stopped" ? 0 : 1)
      assert.containSubset(yield* act("start"), { status: 200 })
      assert.include((yield* person.chat("All well?")).reply, "All well?")
      assert.lengthOf(yield* listRuntimeProcesses(person.userId), 1)
      const { answered, failed, open, pending, used } = yield* Records.readMessageAccounts(person.userId)
      assert.deepStrictEqual({ open, pending }, { open: 0, pending: 0 })
      assert.isAtLeast(used, answered)
      assert.isAtMost(used, answered + failed)
    })
  )

  it.effect(
    "The provisioning of an agent and a chat are one trace each, span by span by the conventions",
    Effect.fn(function* () {
      const { berth, collector } = yield* Service
      const person = yield* subscriber("starter")
      const makeTrace = () => {
        const [traceId, root] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")]
        return { traceId, root, traceparent: `00-${traceId}-${root}-01` }
      }
      const provision = makeTrace()
      const { traceId } = provision
      const headers = { traceparent: provision.traceparent, "x-request-id": `asked-${traceId}` }
      const requested = yield* person.raw("POST", "/api/agents/provision", { body: { name: "Ada" }, headers })
      assert.strictEqual(requested.headers["x-request-id"], `asked-${traceId}`)
      const agentId = AgentId.make(textOrEmpty(memberAt(requested.body, "agent", "id")))
      yield* person.untilRunning(agentId)
      const chat = makeTrace()
      const { body } = yield* person.raw("POST", "/api/agent", {
        body: { message: "Hello" },
        headers: { traceparent: chat.traceparent }
      })
      const spansOf = (id: string) => collector.spans().filter((span) => span.traceId === id)
      /** The listed spans with their kind and nearest listed ancestor. */
      const outline = (id: string, names: ReadonlySet<string>) => {
        const byId = new Map(spansOf(id).map((span) => [span.spanId, span]))
        const findAncestor = (spanId: string | undefined): string => {
          const parent = byId.get(spanId ?? "")
          if (parent === undefined) return "-"
          return names.has(parent.name) ? parent.name : findAncestor(parent.parentSpanId)
        }
        return [...byId.values()]
          .filter(({ name }) => names.has(name))
          .map(({ kind, name, parentSpanId, service }) => [service, kind, name, findAncestor(parentSpanId)].join(" | "))
      }
      const tables = [
        [
          provision,
          [
            ["berth-server", "server", "POST /api/agents/provision", "-"],
            ["berth-server", "internal", "Agents.provision", "POST /api/agents/provision"],
            ["berth-server", "producer", "send provision", "Agents.provision"],
            ["berth-worker", "consumer", "process provision", "send provision"],
            ["berth-worker", "internal", "JobHandler.handle", "process provision"],
            ["berth-worker", "client", "POST", "JobHandler.handle"],
            ["berth-server", "server", "POST /internal/agents/:agentId/deploy", "POST"],
            ["berth-server", "internal", "InstanceLaunches.deploy", "POST /internal/agents/:agentId/deploy"],
            ["berth-server", "internal", "InstanceDriver.start", "InstanceLaunches.deploy"],
            ["berth-server", "internal", "AgentRuntime.configure", "InstanceLaunches.deploy"],
            ["berth-server", "client", "PUT", "AgentRuntime.configure"],
            ["berth-runtime", "server", "PUT /configuration", "PUT"],
            ["berth-server", "client", "UPDATE agents", "InstanceLaunches.deploy"]
          ]
        ],
        [
          chat,
          [
            ["berth-server", "server", "POST /api/agent", "-"],
            ["berth-server", "client", "SELECT sessions users", "POST /api/agent"],
            ["berth-server", "internal", "ConversationTurns.answer", "POST /api/agent"],
            ["berth-server", "internal", "AgentRuntime.chat", "ConversationTurns.answer"],
            ["berth-server", "client", "POST", "AgentRuntime.chat"],
            ["berth-runtime", "server", "POST /turns", "POST"],
            ["berth-runtime", "internal", "invoke_agent Ada", "POST /turns"],
            ["berth-runtime", "internal", "ModelClient.answer", "invoke_agent Ada"],
            ["berth-runtime", "client", "POST", "ModelClient.answer"],
            ["berth-server", "server", "POST /internal/runtime/model", "POST"],
            ["berth-server", "internal", "AiLayer.open", "POST /internal/runtime/model"],
            ["berth-server", "client", "chat echo", "AiLayer.open"]
          ]
        ]
      ] as const
      for (const [trace, rows] of tables) {
        const names = new Set(rows.map(([, , name]) => name))
        const expected = rows.map((row) => row.join(" | "))
        // Exporters flush every few seconds.
        yield* eventually(
          Effect.sync(() => expected.filter((row) => !outline(trace.traceId, names).includes(row))),
          (missing) => missing.length === 0,
          { description: "spans that are missing" }
        )
        assert.sameMembers(outline(trace.traceId, names), expected)
        yield* eventually(
          Effect.sync(() => lintTrace(spansOf(trace.traceId), trace.root)),
          (faults) => faults.length === 0,
          { description: "a trace by the conventions" }
        )
      }
      const findSpan = (id: string, name: string) => spansOf(id).find((span) => span.name === name)
      assert.containSubset(findSpan(chat.traceId, "chat echo")?.attributes, {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "sandbox",
        "gen_ai.response.model": "echo",
        "gen_ai.conversation.id": memberAt(body, "sessionId"),
        "gen_ai.agent.id": agentId,
        "gen_ai.agent.name": "Ada",
        "berth.cost.usd": 0
      })
      assert.containSubset(findSpan(chat.traceId, "POST /turns")?.resource, {
        "berth.role": "runtime",
        "service.instance.id": person.userId
      })
      assert.containSubset(findSpan(provision.traceId, "POST /api/agents/provision")?.attributes, {
        "http.response.status_code": 201,
        "network.protocol.version": "1.1",
        "server.address": "127.0.0.1"
      })
      assert.containSubset(findSpan(provision.traceId, "process provision")?.attributes, {
        "messaging.message.id": findSpan(provision.traceId, "send provision")?.attributes["messaging.message.id"],
        "berth.job.name": "new-agent"
      })

      const logs = yield* berth.logs
      const lines = logs.split("\n")
      assert.isTrue(lines.some((line) => line.includes(`asked-${traceId}`) && line.includes(traceId)))
      const missing = yield* person.raw("GET", "/api/agents/agt_none", { headers: { "x-request-id": "bad id\u00e9" } })
      assert.strictEqual(missing.status, 404)
      assert.match(missing.headers["x-request-id"] ?? "", /^req_/)
      assert.match(String(memberAt(missing.body, "traceId")), /^[0-9a-f]{32}$/)
    })
  )

  it.effect(
    "The service provisions agents of twenty owners concurrently",
    Effect.fn(function* () {
      const people = yield* Effect.all(
        Array.makeBy(20, () => subscriber("starter")),
        { concurrency: 4 }
      )
      yield* Effect.forEach(
        people,
        (person) => Effect.flatMap(person.provision("Ada"), ({ id }) => person.untilRunning(id)),
        many
      )
      const replies = yield* Effect.forEach(people, (person, n) => person.chat(`I am number ${n}`), many)
      replies.forEach(({ reply }, n) => assert.include(reply, `I am number ${n}`))
      yield* Effect.forEach(people, (person) => person.raw("POST", `/api/instance/${person.userId}/stop`), many)
    })
  )

  it.effect(
    "The service exposes no platform secret to an instance, a log or a collector",
    Effect.fn(function* () {
      const { berth, collector, databaseUrl } = yield* Service
      const person = yield* subscriber("starter")
      const { id } = yield* person.provision("Ada")
      yield* person.untilRunning(id)
      yield* person.chat("Hello")
      const { token } = yield* person.api.instances.token({ path: { userId: person.userId } })

      const platform = [
        Redacted.value(databaseUrl),
        new URL(Redacted.value(databaseUrl)).password,
        ...Object.values(secrets),
        secretKey
      ].filter((secret) => secret !== "")
      const cookies = Object.values(Cookies.toRecord(yield* person.cookies))
      assert.lengthOf(cookies, 1)
      const instances = yield* readAllRuntimeTraces(berth.place.dataDirectory)
      const environments = yield* Effect.forEach(instances, ({ owner, pid }) =>
        Effect.map(Option.isSome(pid) ? readProcessEnvironment(pid.value) : Effect.succeed(""), (text) => ({
          owner,
          text
        }))
      )
      const running = environments.filter(({ text }) => text !== "")
      assert.isAbove(running.length, 0)
      for (const { text } of running) for (const secret of platform) assert.notInclude(text, secret)
      const own = running.find(({ owner }) => owner === person.userId)
      const runtimeToken = /BERTH_RUNTIME_TOKEN=([^\0]+)/.exec(own?.text ?? "")?.[1] ?? ""
      assert.match(runtimeToken, /.{32,}/)

      const written = [yield* berth.logs, instances.map(({ log }) => log).join(""), collector.bodies()]
      const everySecret = [...platform, ...cookies, token, runtimeToken, owner.password, person.account.password]
      for (const where of written) {
        assert.isAbove(where.length, 100)
        for (const secret of everySecret) assert.isFalse(where.includes(secret))
      }
    })
  )

  it.effect(
    "Files and memory of an agent survive a repair and end with the agent",
    Effect.fn(function* () {
      const person = yield* subscriber("pro")
      const agent = yield* person.provision("Ada")
      yield* person.untilRunning(agent.id)
      const say = (message: string) => Effect.map(person.chat(message), ({ reply }) => reply)
      const post = (path: string, body: unknown = {}) => person.raw("POST", path, { body })

      assert.strictEqual(yield* say("calculate 17*23 + 0.1"), "The result: 391.1")
      assert.include(yield* say("What time is it in Europe/Paris?"), "Europe/Paris")
      // The files skill is not basic: the owner enables it.
      assert.include(yield* say("write file notes.txt: buy rope"), "heard")
      for (const skillId of ["files", "web-fetch"])
        assert.containSubset(yield* post("/api/agent", { action: "update-skill", skillId, enabled: true }), {
          status: 200,
          body: { success: true, skillId, enabled: true }
        })
      yield* say("write file notes.txt: buy rope")
      assert.include(yield* say("list files"), "notes.txt")
      assert.include(yield* say(`fetch ${yield* webUrl}/health/ready`), "not on the public internet")

      yield* say("My name is Grace.")
      yield* say("remember that my dog is called Rex")
      yield* post("/api/agent", { action: "create-session" })
      assert.include(yield* say("what do you remember about my dog?"), "my dog is called Rex")
      assert.strictEqual(yield* say("What is my name?"), "Your name is Grace.")

      assert.containSubset(yield* post(`/api/instance/${person.userId}/repair`), { status: 200 })
      assert.strictEqual(yield* say("read file notes.txt"), "The file says: buy rope")
      assert.include(yield* say("what do you remember about my dog?"), "my dog is called Rex")

      assert.containSubset(yield* post(`/api/instance/${person.userId}/reset-memory`), { status: 200 })
      assert.strictEqual(yield* say("What is my name?"), "You have not told me your name yet.")
      assert.notInclude(yield* say("what do you remember about my dog?"), "Rex")
      assert.strictEqual(yield* say("read file notes.txt"), "The file says: buy rope")
    })
  )
})
