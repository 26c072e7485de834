import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { assert, layer } from "@effect/vitest"
import { Array, Context, Effect, Fiber, Layer, Option, Redacted, type Scope, Stream } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { inject } from "vitest"
import { eventually } from "../support/Eventually.ts"
import { lintMetrics, promtool } from "../support/MetricLint.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { describeWithTool } from "../support/RequiredTools.ts"
import { freePort } from "../support/FreePort.ts"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"
import { readAllRuntimeTraces, readRuntimePid } from "./RuntimeProcesses.ts"
import { runMainJob, memberAt } from "./MainJobSteps.ts"
import { build, type Program, type ProgramStartFailed, run } from "./ProgramProcess.ts"
import * as Records from "./ServiceDatabase.ts"
import { type SignedUpClient, signUpClient, type StreamedEvent, openWebClient } from "./WebClient.ts"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"

const model = "openai/gpt-4o-mini"

class Service extends Context.Tag("@berth/test/SplitService")<
  Service,
  {
    /** Two equal web processes. */
    readonly webUrls: readonly [string, string]
    readonly metricsPorts: Readonly<Record<"web" | "backend" | "worker", number>>
    readonly dataDirectory: string
    readonly backend: (
      settings?: Readonly<Record<string, string>>
    ) => Effect.Effect<Program, ProgramStartFailed, Scope.Scope>
  }
>() {}

const service = Layer.unwrapScoped(
  Effect.gen(function* () {
    yield* build
    const databaseUrl = yield* migratedDatabase
    const dataDirectory = join(yield* temporaryDirectory, "data")
    const [first, second, backendPort, health] = yield* Effect.all([freePort, freePort, freePort, freePort])
    const metricsPorts = yield* Effect.all({ web: freePort, backend: freePort, worker: freePort })
    const redisUrl = inject("redisUrl")
    const environment = {
      DATABASE_URL: Redacted.value(databaseUrl),
      // A separate database.
      ...(redisUrl === "" ? {} : { REDIS_URL: `${redisUrl}/9` }),
      DATA_DIR: dataDirectory,
      APP_URL: `http://localhost:${first}`,
      BACKEND_PORT: String(backendPort),
      BACKEND_URL: `http://127.0.0.1:${backendPort}`,
      INTERNAL_API_KEY: randomBytes(24).toString("hex"),
      SECRETS_KEYS: `one:${randomBytes(32).toString("base64")}`,
      LIMIT_REGISTER: "1000/1h",
      // The discard port: tests do not read the public model list.
      OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1",
      LIMIT_SIGN_IN: "1000/1h",
      DRAIN_SECONDS: "5",
      WORKER_DRAIN_SECONDS: "5"
    }
    // Instances that the backend leaves running end last.
    yield* Effect.addFinalizer(() =>
      Effect.map(readAllRuntimeTraces(dataDirectory), (instances) => {
        for (const { pid } of instances)
          if (Option.isSome(pid) && isProcessAlive(pid.value)) process.kill(pid.value, "SIGKILL")
      })
    )
    const metricsOf = (program: keyof typeof metricsPorts) => ({ METRICS_PORT: String(metricsPorts[program]) })
    const web = (port: number, settings: Readonly<Record<string, string>> = {}) =>
      run("server", { ...environment, ...settings, SERVER_ROLE: "web", PORT: String(port) }, port)
    const worker = run("worker", { ...environment, ...metricsOf("worker"), WORKER_HEALTH_PORT: String(health) }, health)
    yield* Effect.all([web(first, metricsOf("web")), web(second), worker], { concurrency: "unbounded" })
    return Layer.merge(
      Layer.succeed(Service, {
        webUrls: [`http://127.0.0.1:${first}`, `http://127.0.0.1:${second}`],
        metricsPorts,
        dataDirectory,
        backend: (settings) => {
          const own = { ...metricsOf("backend"), SERVER_ROLE: "backend" }
          return run("server", { ...environment, ...settings, ...own }, backendPort)
        }
      }),
      Records.layer(databaseUrl)
    )
  })
)

const programMetrics: Readonly<Record<string, RegExp>> = {
  web: /^berth_password_hashes_waiting /m,
  // A runtime has reported its statistics.
  backend: /^berth_instances_measured [1-9]/m,
  worker: /^berth_jobs_duration_seconds/m
}

const many = { concurrency: "unbounded" } as const

const subscriber = Effect.gen(function* () {
  const { webUrls } = yield* Service
  const person = yield* signUpClient(webUrls[0])
  yield* Records.insertSubscription(person.userId, "starter")
  return person
})

/** The same user at the other web process, with another session. */
const elsewhere = (person: SignedUpClient) =>
  Effect.gen(function* () {
    const { webUrls } = yield* Service
    const visitor = yield* openWebClient(webUrls[1])
    yield* visitor.signIn(person.account)
    return visitor
  })

const pidOf = (userId: UserId) =>
  Effect.flatMap(Service, ({ dataDirectory }) => Effect.flatMap(readRuntimePid(dataDirectory, userId), Effect.orDie))

const backedBy = inject("redisUrl") === "" ? "PostgreSQL alone" : "PostgreSQL and Redis"

layer(service, { timeout: "120 seconds", excludeTestServices: true })(
  `web, backend and worker apart, on ${backedBy}`,
  (it) => {
    it.scoped(
      "Split programs do the main job as one process does",
      Effect.fn(function* () {
        yield* (yield* Service).backend()
        yield* runMainJob(yield* subscriber)
      })
    )

    describeWithTool(promtool, "promtool check metrics", () => {
      it.scoped(
        "Split programs have metrics of web, backend and worker in which promtool check metrics finds no fault",
        Effect.fn(function* () {
          const { backend, metricsPorts } = yield* Service
          yield* backend()
          const person = yield* subscriber
          yield* person.untilRunning((yield* person.provision("Ada")).id)
          yield* person.chat("Hello")
          for (const [program, port] of Object.entries(metricsPorts)) {
            const text = yield* Effect.promise(async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
            assert.include(text, "nodejs_eventloop_lag_p99_seconds", program)
            assert.match(text, programMetrics[program] ?? /no metric of the program/, program)
            assert.deepStrictEqual(yield* lintMetrics(text), [], program)
          }
        })
      )
    })

    it.scoped(
      "Split programs are one service to a user at any web process",
      Effect.fn(function* () {
        yield* (yield* Service).backend()
        const person = yield* subscriber
        const other = yield* elsewhere(person)
        const ask = (visitor: typeof other, key: string) =>
          visitor.raw("POST", "/api/agents/provision", { body: { name: "Ada" }, headers: { "idempotency-key": key } })
        const repeated = yield* Effect.all(
          Array.makeBy(10, (n) => ask(n % 2 === 0 ? person : other, "only-once")),
          many
        )
        assert.deepStrictEqual(
          repeated.map(({ status }) => status),
          repeated.map(() => 201)
        )
        assert.strictEqual(new Set(repeated.map(({ body }) => memberAt(body, "agent", "id"))).size, 1)
        const more = yield* Effect.all([ask(person, "one-more"), ask(other, "another")], many)
        assert.deepStrictEqual(
          more.map(({ status }) => status),
          [429, 429]
        )

        const agents = (yield* other.api.agents.list()).agents
        yield* Effect.forEach(agents, ({ id }) => person.untilRunning(id))
        const { sessionId } = yield* person.chat("First")
        const replies = yield* Effect.all(
          Array.makeBy(6, (n) => (n % 2 === 0 ? person : other).chat(`Message ${n}`, sessionId)),
          many
        )
        replies.forEach(({ reply }, n) => assert.include(reply, `Message ${n}`))
        const { body } = yield* other.raw("GET", `/api/agent?action=session&sessionId=${sessionId}`)
        const messages = memberAt(body, "session", "messages")
        // Each reply directly follows its message.
        const pairs = Array.isArray(messages) ? Array.chunksOf(messages, 2) : []
        assert.lengthOf(pairs, 7)
        for (const [message, reply] of pairs)
          assert.include(String(memberAt(reply, "content")), String(memberAt(message, "content")))
        assert.containSubset(yield* Records.readMessageAccounts(person.userId), {
          answered: 7,
          used: 7,
          open: 0,
          pending: 0
        })
      })
    )

    it.scoped(
      "Split programs provision with channel tokens once, and receive and play a live stream at any web process",
      Effect.fn(function* () {
        const { backend, webUrls } = yield* Service
        const running = yield* backend()
        const provision = (webUrl: string, key: string) =>
          Effect.promise(() =>
            fetch(`${webUrl}/api/provision`, {
              method: "POST",
              headers: { "content-type": "application/json", "idempotency-key": key },
              body: JSON.stringify({ platformAToken: "123456:AAE-a-token" })
            })
          )
        const answers = yield* Effect.forEach(webUrls, (webUrl) => provision(webUrl, "once"), many)
        const bodies = yield* Effect.forEach(answers, (answer) => Effect.promise((): Promise<unknown> => answer.json()))
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 200]
        )
        assert.deepStrictEqual(bodies[0], bodies[1])
        const live = (webUrl: string, path: string, init: RequestInit = {}) =>
          Effect.promise(() => fetch(`${webUrl}/live/${path}`, init))
        const upload = `ingest/${String(memberAt(bodies[0], "streamKey"))}/seg0.ts`
        assert.strictEqual((yield* live(webUrls[0], upload, { method: "PUT", body: "segment" })).status, 204)
        const played = yield* live(webUrls[1], `${String(memberAt(bodies[0], "liveStreamId"))}/seg0.ts`)
        assert.strictEqual(yield* Effect.promise(() => played.text()), "segment")
        yield* running.end("SIGKILL")
        assert.strictEqual((yield* provision(webUrls[0], "later")).status, 502)
      })
    )

    it.scoped(
      "Split programs report an unreachable backend and continue when it returns",
      Effect.fn(function* () {
        const { backend } = yield* Service
        const upstream = yield* makeFakeOpenAi()
        const settings = { OPENAI_BASE_URL: upstream.baseUrl, OPENAI_API_KEY: upstream.apiKey }
        const before = yield* backend(settings)
        const [person, late] = yield* Effect.all([subscriber, subscriber], many)
        const agent = yield* person.provision("Ada", model)
        yield* person.untilRunning(agent.id)
        const pid = yield* pidOf(person.userId)
        yield* person.chat("First")

        upstream.respondWith({ type: "break-off", pieces: ["Half ", "an "], by: "hanging" })
        const received: Array<StreamedEvent> = []
        const stream = Stream.runForEach(person.events("/api/agent", { message: "Second" }), (event) =>
          Effect.sync(() => received.push(event))
        )
        const fiber = yield* Effect.fork(stream)
        yield* eventually(
          Effect.sync(() => received),
          (current) => current.length >= 2,
          { description: "two pieces of an answer" }
        )
        yield* before.end("SIGKILL")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(
          received.map(({ event }) => event),
          ["delta", "delta", "error"]
        )

        for (const verb of ["start", "stop", "restart"])
          assert.containSubset(yield* person.raw("POST", `/api/instance/${person.userId}/${verb}`), {
            status: 502,
            body: {
              success: false,
              status: "error",
              code: "backend_unavailable",
              message: "The instance cannot be managed: the agent backend cannot be reached. Try again later."
            }
          })
        assert.containSubset(yield* person.raw("POST", "/api/agent", { body: { message: "Third" } }), {
          status: 500,
          body: { code: "message_unanswered" }
        })
        assert.containSubset(yield* person.raw("POST", "/api/chat", { body: { message: "Fourth" } }), {
          status: 500,
          body: { error: "failed to send" }
        })
        assert.containSubset(yield* person.raw("GET", `/api/agents/${agent.id}`), {
          status: 200,
          body: { agent: { status: "running" } }
        })
        const patient: AgentId = (yield* late.provision("Ada", model)).id
        assert.strictEqual(yield* late.statusOf(patient), "provisioning")

        yield* backend(settings)
        assert.strictEqual((yield* person.chat("Fifth")).reply, "You said: Fifth")
        assert.strictEqual(yield* pidOf(person.userId), pid)
        yield* late.untilRunning(patient)
        assert.strictEqual((yield* late.chat("At last")).reply, "You said: At last")
        assert.containSubset(yield* person.raw("POST", `/api/instance/${person.userId}/stop`), { status: 200 })
        assert.deepStrictEqual(yield* Records.readMessageAccounts(person.userId), {
          answered: 2,
          failed: 3,
          pending: 0,
          replies: 2,
          // The model request of the second message was sent.
          used: 3,
          booked: 3,
          open: 0,
          ledger: 3
        })
      })
    )
  }
)
