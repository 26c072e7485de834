import { QueueName } from "@berth/domain/jobs/JobKind"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { spawnSync } from "node:child_process"
import { createServer, type ServerResponse } from "node:http"
import { join } from "node:path"
import { inject } from "vitest"
import { eventually } from "../support/Eventually.ts"
import { freshDatabase } from "../support/Databases.ts"
import { freePort } from "../support/FreePort.ts"
import { awaitExit, startProgram } from "../support/processes/ChildProcess.ts"
import { describeWithTool, redisServer } from "../support/RequiredTools.ts"
import { insertAgent, insertUser } from "../support/Samples.ts"
import { testStorage } from "../support/TestStorage.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"
import { ProvisionAgentJob } from "@berth/domain/agents/AgentJobs"

const root = join(import.meta.dirname, "../..")

const built = Effect.sync(() => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/build.mjs")], { encoding: "utf8" })
  assert.strictEqual(status, 0, stderr)
})

interface Deployment {
  readonly agentId: string
  readonly traceId: string
  readonly key: string
  readonly answer: (status: number) => void
}

/** A backend that records its requests and responds when the test releases it. */
const backend = Effect.acquireRelease(
  Effect.async<{ readonly url: string; readonly deployments: Array<Deployment>; readonly close: () => void }>(
    (resume) => {
      const deployments: Array<Deployment> = []
      const answered = (response: ServerResponse) => (status: number) => {
        response.writeHead(status, { "content-type": "application/json" }).end()
      }
      const server = createServer((request, response) => {
        const [, agentId] = /^\/internal\/agents\/([^/]+)\/deploy$/.exec(request.url ?? "") ?? []
        if (agentId === undefined) return answered(response)(404)
        const [, traceId = "none"] = /^00-([0-9a-f]{32})-/.exec(String(request.headers["traceparent"])) ?? []
        deployments.push({
          agentId,
          traceId,
          key: String(request.headers["authorization"]),
          answer: answered(response)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = address !== null && typeof address === "object" ? address.port : 0
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, deployments, close: () => server.close() }))
      })
    }
  ),
  ({ close }) => Effect.sync(close)
)

/** Creates an agent as the web API does: the row and its job in one transaction; returns its id and its trace id. */
const provision = Effect.fn("provision")(function* (name: string) {
  const outbox = yield* Outbox
  const transaction = yield* Transaction
  const owner = yield* insertUser(name)
  const agent = yield* transaction.run(
    Effect.tap(insertAgent(owner.id, { name, status: "provisioning" }), ({ id }) =>
      outbox.append(ProvisionAgentJob, { agentId: id })
    )
  )
  const { traceId } = yield* Effect.orDie(Effect.currentSpan)
  return { agentId: agent.id, traceId }
})

const status = (url: string) =>
  Effect.promise(async () => {
    try {
      return (await fetch(url)).status
    } catch {
      return 0
    }
  })

const works = (redisUrl: Effect.Effect<Record<string, string>>) => () => {
  const scene = Effect.gen(function* () {
    yield* built
    const databaseUrl = yield* freshDatabase
    const { deployments, url } = yield* backend
    const dataDirectory = yield* temporaryDirectory
    const redis = yield* redisUrl
    const storage = yield* Layer.build(testStorage(databaseUrl, { maxConnections: 2 }))
    const worker = Effect.gen(function* () {
      const port = yield* freePort
      const child = yield* startProgram(join(root, "dist/worker.mjs"), {
        DATABASE_URL: Redacted.value(databaseUrl),
        BACKEND_URL: url,
        INTERNAL_API_KEY: "the internal key",
        DATA_DIR: dataDirectory,
        WORKER_HEALTH_PORT: String(port),
        WORKER_DRAIN_SECONDS: "20",
        LOG_LEVEL: "info",
        LOG_FORMAT: "json",
        ...redis
      })
      let log = ""
      child.stdout?.setEncoding("utf8").on("data", (text: string) => (log += text))
      const draining = eventually(
        Effect.sync(() => log.split("Queue consumer takes no further jobs").length - 1),
        (queues) => queues === QueueName.literals.length
      )
      const health = `http://127.0.0.1:${port}/health`
      yield* eventually(status(`${health}/ready`), (answer) => answer === 200 || child.exitCode !== null)
      assert.isNull(child.exitCode)
      return { child, draining, health }
    })
    const waitFor = (number: number) =>
      eventually(
        Effect.sync(() => deployments.length),
        (length) => length >= number
      )
    return { deployments, provision: (id: string) => Effect.provide(provision(id), storage), waitFor, worker }
  })

  it.scopedLive(
    "The worker deploys agents in the trace of their request, and on SIGTERM finishes started jobs only",
    () =>
      Effect.gen(function* () {
        const { deployments, provision, waitFor, worker } = yield* scene
        const first = yield* worker
        const begun = [yield* provision("one"), yield* provision("two")]
        yield* waitFor(2)
        const waiting = yield* provision("three")
        assert.sameDeepMembers(
          deployments.map(({ agentId, traceId }) => ({ agentId, traceId })),
          begun
        )
        for (const { key } of deployments) assert.strictEqual(key, "Bearer the internal key")

        first.child.kill("SIGTERM")
        yield* first.draining
        assert.strictEqual(yield* status(`${first.health}/live`), 200)
        assert.isNull(first.child.exitCode)
        for (const { answer } of deployments) answer(204)
        assert.strictEqual(yield* awaitExit(first.child), 0)
        assert.strictEqual(deployments.length, 2)

        yield* worker
        yield* waitFor(3)
        assert.strictEqual(deployments[2]?.agentId, waiting.agentId)
        deployments[2]?.answer(204)
      })
  )

  it.scopedLive("The worker ends at once on a second signal", () =>
    Effect.gen(function* () {
      const { deployments, provision, waitFor, worker } = yield* scene
      const { child, draining } = yield* worker
      yield* provision("one")
      yield* waitFor(1)
      child.kill("SIGTERM")
      yield* draining
      child.kill("SIGTERM")
      assert.notStrictEqual(yield* awaitExit(child), 0)
      assert.strictEqual(deployments.length, 1)
    })
  )
}

describe("A worker on PostgreSQL", works(Effect.succeed({})))

// A separate database each: no worker receives another test's jobs.
let database = 0
const redis = Effect.sync(() => ({ REDIS_URL: `${inject("redisUrl")}/${++database}` }))
describeWithTool(redisServer, "A worker on Redis", works(redis))
