import { assert, layer } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { FakeJobQueue, liveJobCounts } from "../fakes/FakeJobQueue.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { asAdministrator } from "./AdministratorFixtures.ts"
import { assertError } from "./ErrorAssertions.ts"

const letter = (id: string) => ({
  id,
  name: "new-agent",
  payload: { agentId: `agt_${id}` },
  reason: "the instance is gone"
})
const none = { tasks: [], provision: [], mail: [], "card-events": [] }

const asOperator = (method: string, path: string) =>
  Effect.flatMap(App.TestApp, ({ backend, internalKey }) =>
    backend({ method, path, headers: { authorization: `Bearer ${internalKey}` } })
  )

const idsOf = (jobs: unknown) => (Array.isArray(jobs) ? jobs.map((job: { readonly id: string }) => job.id) : [])

layer(App.layer(), { excludeTestServices: true })("The jobs API", (it) => {
  it.effect("GET /internal/jobs/dead lists dead letters by queue, and POST replays one", () =>
    Effect.gen(function* () {
      const { deadLetters } = yield* FakeJobQueue
      yield* Ref.set(deadLetters, { ...none, tasks: [letter("1")], provision: [letter("a:b/c"), letter("2")] })
      const list = (query = "") => asOperator("GET", `/internal/jobs/dead${query}`)
      const all = yield* list()
      assert.deepStrictEqual(all.body, {
        jobs: [
          { ...letter("1"), queue: "tasks" },
          { ...letter("a:b/c"), queue: "provision" },
          { ...letter("2"), queue: "provision" }
        ],
        count: 3
      })
      assert.deepStrictEqual(idsOf((yield* list("?queue=provision&limit=1")).body["jobs"]), ["a:b/c"])
      assertError(yield* list("?queue=nowhere"), { status: 400, code: "invalid_request" })
      assertError(yield* list("?limit=many"), { status: 400, code: "invalid_request" })

      const replay = (id: string) => asOperator("POST", `/internal/jobs/dead/${encodeURIComponent(id)}/replay`)
      assert.deepStrictEqual((yield* replay("a:b/c")).body, { success: true, queue: "provision" })
      assertError(yield* replay("a:b/c"), { status: 404, code: "dead_letter_not_found" })
      assert.deepStrictEqual(idsOf((yield* list()).body["jobs"]), ["1", "2"])
    })
  )

  it.effect("The routes of dead letters are 503 while the queues do not respond", () =>
    Effect.gen(function* () {
      const { withOutage } = yield* FakeJobQueue
      for (const [method, path] of [
        ["GET", "/internal/jobs/dead"],
        ["POST", "/internal/jobs/dead/1/replay"]
      ] as const) {
        const answer = yield* withOutage(asOperator(method, path))
        assertError(answer, { status: 503, code: "service_unavailable" })
        assert.strictEqual(answer.headers["retry-after"], "5")
      }
    })
  )

  it.effect("GET /metrics counts the jobs of each queue, also while the queues do not respond", () =>
    Effect.gen(function* () {
      const { deadLetters, withOutage } = yield* FakeJobQueue
      yield* Ref.set(deadLetters, { ...none, tasks: [letter("1")], provision: [letter("2"), letter("3")] })
      const metrics = Effect.map(asOperator("GET", "/metrics"), ({ text }) => text.split("\n"))
      const lines = yield* metrics
      for (const line of [
        'berth_queue_jobs{queue="provision",state="waiting"} 5',
        'berth_queue_jobs{queue="provision",state="active"} 2',
        'berth_queue_jobs{queue="provision",state="delayed"} 1',
        'berth_queue_jobs{queue="provision",state="dead"} 2',
        'berth_queue_jobs{queue="tasks",state="dead"} 1',
        'berth_queue_up{queue="tasks"} 1'
      ])
        assert.include(lines, line)
      assert.include(yield* withOutage(metrics), 'berth_queue_up{queue="tasks"} 0')
    })
  )

  it.effect(
    "Administrators list, pause and resume queues, and replay and discard dead letters, with audit entries",
    () =>
      Effect.gen(function* () {
        const { deadLetters } = yield* FakeJobQueue
        yield* Ref.set(deadLetters, { ...none, tasks: [letter("1"), letter("2")] })
        const get = (path: string) => asAdministrator({ method: "GET", path: `/api/ops/queues${path}` })
        const post = (path: string, json: unknown = { reason: "an outage" }) =>
          asAdministrator({ method: "POST", path: `/api/ops/queues${path}`, json })
        const tasks = { name: "tasks", ...liveJobCounts, dead: 2 }
        const first = Effect.map(get(""), ({ body: { queues } }): unknown =>
          Array.isArray(queues) ? queues[0] : undefined
        )
        assert.deepStrictEqual(yield* first, { ...tasks, paused: false })
        assert.deepStrictEqual((yield* post("/tasks/pause")).body, { success: true })
        assert.deepStrictEqual(yield* first, { ...tasks, paused: true })
        assert.deepStrictEqual((yield* post("/tasks/resume")).body, { success: true })
        assert.deepStrictEqual(yield* first, { ...tasks, paused: false })
        assert.deepStrictEqual(idsOf((yield* get("/dead?queue=tasks")).body["jobs"]), ["1", "2"])
        assert.deepStrictEqual((yield* post("/dead/1/replay")).body, { success: true, queue: "tasks" })
        // Not settled: the job lost too many workers.
        yield* sql`
          insert into outbox (id, lane, queue, name, payload, created_at, published_at)
          values ('2', 'tasks 2', 'tasks', 'new-agent', '{}', now(), now())`
        assert.deepStrictEqual((yield* post("/dead/2/discard")).body, { success: true, queue: "tasks" })
        assert.deepStrictEqual(yield* sql`select settled_at is not null as settled from outbox where id = '2'`, [
          { settled: true }
        ])
        assertError(yield* post("/dead/2/discard"), { status: 404, code: "dead_letter_not_found" })
        assertError(yield* post("/nowhere/pause"), { status: 400, code: "invalid_request" })
        assertError(yield* post("/tasks/pause", {}), { status: 400, code: "invalid_request" })
        const { body } = yield* asAdministrator({ method: "GET", path: "/api/ops/audit?user=queue:tasks" })
        assert.deepStrictEqual(
          (Array.isArray(body["entries"]) ? body["entries"] : []).map(
            ({ action }: { readonly action: string }) => action
          ),
          ["queue.discard", "queue.replay", "queue.resume", "queue.pause"]
        )
        const { withOutage } = yield* FakeJobQueue
        assertError(yield* withOutage(get("")), { status: 503, code: "service_unavailable" })
      })
  )
})
