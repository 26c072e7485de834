import { TurnFailed } from "@berth/domain/instances/AgentRuntime"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { maximumSkillRunsInProgress } from "@berth/domain/schedules/runs/AgentRun"
import { AgentRunRepository } from "@berth/domain/schedules/runs/AgentRunRepository"
import { ScheduleTicks } from "@berth/domain/schedules/ScheduleTicks"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Fiber, Schema, Stream } from "effect"
import * as ScheduleWorker from "../support/ScheduleWorker.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, exhaustUnits, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { findUsedUnits, sendMessage } from "./TurnFixtures.ts"

const Run = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  dueAt: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  result: Schema.NullOr(Schema.String),
  units: Schema.NullOr(Schema.Number),
  repeats: Schema.Number
})
const Runs = Schema.Struct({ runs: Schema.Array(Run), total: Schema.Number })
const View = Schema.Struct({
  id: Schema.String,
  cron: Schema.String,
  enabled: Schema.Boolean,
  heartbeat: Schema.Boolean,
  nextRuns: Schema.Array(Schema.String),
  lastRun: Schema.NullOr(Run)
})
const decodeView = Schema.decodeUnknownSync(Schema.Struct({ schedule: View }))
const decodeViews = Schema.decodeUnknownSync(Schema.Struct({ schedules: Schema.Array(View) }))
const decodeRuns = Schema.decodeUnknownSync(Runs)
const decodeRun = Schema.decodeUnknownSync(Schema.Struct({ run: Run }))

const call = (owner: OwnerWithAgent, method: string, path: string, json?: unknown) =>
  App.web({ method, path: `/api/agents/${owner.agent.id}${path}`, as: owner, ...(json === undefined ? {} : { json }) })
const daily = { cron: "0 9 * * *", timezone: "Europe/Berlin", prompt: "Good morning" }
const create = (owner: OwnerWithAgent, json: unknown = daily) =>
  Effect.map(call(owner, "POST", "/schedules", json), ({ body }) => decodeView(body).schedule)
const list = (owner: OwnerWithAgent) =>
  Effect.map(call(owner, "GET", "/schedules"), ({ body }) => decodeViews(body).schedules)
const history = (owner: OwnerWithAgent, id: string) =>
  Effect.map(call(owner, "GET", `/schedules/${id}/runs`), ({ body }) => decodeRuns(body))

/** Gives a schedule one daily time that was due `ago` by the database's clock. */
const makeDue = (id: string, ago = "1 second") =>
  Effect.flatMap(SqlClient, (sql) => {
    const due = sql`date_trunc('second', now() - ${ago}::interval)`
    return sql`
      update schedules set cron = to_char(${due} at time zone 'UTC', 'SS MI HH24') || ' * * *', timezone = 'UTC',
        next_due_at = ${due}, planned_at = ${due}
      where id = ${id}`
  })
const createDue = (owner: OwnerWithAgent, json: unknown = daily) =>
  Effect.tap(create(owner, json), ({ id }) => makeDue(id))

const jobOf = (owner: OwnerWithAgent, id: string) =>
  Effect.gen(function* () {
    const entries = yield* ScheduleWorker.relayJobs
    const [run] = (yield* history(owner, id)).runs
    return entries.find(({ payload }) => JSON.stringify(payload) === JSON.stringify({ runId: run?.id }))
  })

const enable = (owner: OwnerWithAgent) => call(owner, "PUT", "/config", { skills: ["time", "calculator", "files"] })

const setAgent = (owner: OwnerWithAgent, status: string) =>
  Effect.flatMap(SqlClient, (sql) => sql`update agents set status = ${status} where id = ${owner.agent.id}`)

layer(ScheduleWorker.layer, { excludeTestServices: true })("Schedules", (it) => {
  it.effect("Schedules are created, listed with their next runs, changed, paused and deleted", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const created = yield* call(owner, "POST", "/schedules", daily)
      assert.strictEqual(created.status, 201, created.text)
      const { id, nextRuns } = decodeView(created.body).schedule
      assert.match(id, /^sch_/)
      assert.lengthOf(nextRuns, 5)
      assert.deepInclude(created.body["schedule"], {
        ...daily,
        onMissed: "once",
        enabled: true,
        lastRun: null,
        skillId: null
      })
      const changed = yield* call(owner, "PATCH", `/schedules/${id}`, { enabled: false, onMissed: "all" })
      assert.deepInclude(changed.body["schedule"], { ...daily, onMissed: "all", enabled: false, nextRuns: [] })
      const skill = yield* call(owner, "PATCH", `/schedules/${id}`, { cron: "0 10 * * *", prompt: "x" })
      assert.deepInclude(skill.body["schedule"], { cron: "0 10 * * *", prompt: "x" })
      assert.deepStrictEqual(
        (yield* list(owner)).map((one) => one.id),
        [id]
      )
      assert.strictEqual((yield* call(owner, "DELETE", `/schedules/${id}`)).status, 200)
      assertError(yield* call(owner, "GET", `/schedules/${id}/runs`), { status: 404, code: "schedule_not_found" })
      assert.deepStrictEqual(yield* list(owner), [])
    })
  )

  it.effect("Schedules of one agent are limited by the plan under concurrent requests", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("free")
      const answers = yield* Effect.replicateEffect(call(owner, "POST", "/schedules", daily), 6, { concurrency: 6 })
      assert.strictEqual(answers.filter(({ status }) => status === 201).length, 3)
      assert.strictEqual(answers.filter(({ status }) => status === 429).length, 3)
    })
  )

  it.effect(
    "Schedules run their prompt once per time in a conversation of their own, and are charged like a message",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent("enterprise")
        const { id } = yield* createDue(owner)
        const before = yield* findUsedUnits(owner)
        assert.strictEqual(yield* ScheduleWorker.runSchedules, 1)
        const [run] = (yield* history(owner, id)).runs
        assert.deepInclude(run, { status: "succeeded", reason: null, result: "Echo: Good morning", units: 1 })
        assert.strictEqual((yield* findUsedUnits(owner)) - before, 1)
        const [shown] = yield* list(owner)
        assert.deepStrictEqual(shown?.lastRun, run)
        const answer = yield* sendMessage(owner)
        assert.strictEqual(answer.body["sessionId"], owner.conversation)
      })
  )

  it.effect("Schedules run once when ten workers decide and execute them at once", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const ids = (yield* Effect.replicateEffect(createDue(owner), 8)).map(({ id }) => id)
      const { calls } = yield* AgentManagerTest
      const turnsBefore = (yield* calls).length
      const { fire } = yield* ScheduleTicks
      yield* Effect.replicateEffect(fire, 10, { concurrency: "unbounded" })
      const entries = yield* ScheduleWorker.relayJobs
      assert.lengthOf(entries, 8)
      // Jobs are delivered at least once.
      yield* Effect.forEach([...entries, ...entries], (entry) => ScheduleWorker.runJob(entry), { concurrency: 4 })
      const turns = (yield* calls).slice(turnsBefore).filter(({ target }) => target === owner.user.id)
      assert.lengthOf(turns, 8)
      for (const id of ids)
        assert.deepStrictEqual(
          (yield* history(owner, id)).runs.map(({ status }) => status),
          ["succeeded"]
        )
    })
  )

  it.effect("A tick whose worker is killed at any step happens once, after the next worker has repeated the step", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const sql = yield* SqlClient
      const { fire } = yield* ScheduleTicks
      const { calls } = yield* AgentManagerTest
      const { id } = yield* createDue(owner)
      // Killed before the tick's commit: nothing remains of it.
      yield* Effect.exit(sql.withTransaction(Effect.zipRight(fire, Effect.die("killed"))))
      assert.strictEqual((yield* history(owner, id)).total, 0)
      assert.lengthOf(yield* ScheduleWorker.relayJobs, 0)
      // Killed after the commit: the outbox entry is published later.
      yield* fire
      yield* fire
      const entry = yield* jobOf(owner, id)
      if (entry === undefined) return assert.fail("The tick has no job")
      // Killed after the start of the run, and again after the turn before the run's end.
      const before = (yield* calls).length
      yield* sql`update agent_runs set state = 'running', started_at = now() where schedule_id = ${id}`
      yield* ScheduleWorker.runJob(entry)
      yield* sql`update agent_runs set state = 'running', ended_at = null, result = null where schedule_id = ${id}`
      yield* ScheduleWorker.runJob(entry)
      yield* ScheduleWorker.runJob(entry)
      const { runs } = yield* history(owner, id)
      assert.deepStrictEqual(
        runs.map(({ result, status, units }) => [status, result, units]),
        [["succeeded", "Echo: Good morning", 1]]
      )
      assert.lengthOf(
        (yield* calls).slice(before).filter(({ target }) => target === owner.user.id),
        1
      )
    })
  )

  it.effect("A time that was run is not repeated when the clock of the database is set back", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const sql = yield* SqlClient
      const { fire } = yield* ScheduleTicks
      const { id } = yield* createDue(owner)
      yield* ScheduleWorker.runSchedules
      // Now all stored times are an hour ahead of the clock.
      yield* sql`update schedules set planned_at = now() + interval '1 hour', next_due_at = now() + interval '1 hour' where id = ${id}`
      yield* fire
      const [row] =
        yield* sql`select next_due_at > now() + interval '2 hours' as is_replanned from schedules where id = ${id}`
      assert.deepStrictEqual(row, { isReplanned: true })
      const due = sql`(select max(due_at) from agent_runs where schedule_id = ${id})`
      yield* sql`update schedules set planned_at = ${due}, next_due_at = ${due} where id = ${id}`
      yield* fire
      assert.strictEqual((yield* history(owner, id)).total, 1)
      assert.lengthOf(yield* ScheduleWorker.relayJobs, 0)
    })
  )

  it.effect("Missed times run as the policy demands, are recorded with the reason, and stand in the agent's log", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const { fire } = yield* ScheduleTicks
      const statuses = (onMissed: string) =>
        Effect.gen(function* () {
          const { id } = yield* create(owner, { ...daily, onMissed })
          const sql = yield* SqlClient
          yield* sql`
            update schedules set cron = '*/10 * * * *', timezone = 'UTC', planned_at = now(),
              next_due_at = date_bin('10 minutes', now() - interval '33 minutes', to_timestamp(0))
            where id = ${id}`
          yield* fire
          const { runs } = yield* history(owner, id)
          for (const { reason, status } of runs)
            if (status === "missed") assert.strictEqual(reason, "No worker ran at this time.")
          return runs.map(({ status }) => status)
        })
      assert.include(yield* statuses("skip"), "missed")
      const once = yield* statuses("once")
      assert.deepStrictEqual([once[0], once.slice(1).every((status) => status === "missed")], ["waiting", true])
      assert.notInclude(yield* statuses("all"), "missed")
      const { text } = yield* call(owner, "GET", "/logs")
      assert.match(text, /missed \d runs/)
      const sql = yield* SqlClient
      const events =
        yield* sql`select count(*)::int as count from events where kind = 'schedule.missed' and user_id = ${owner.user.id}`
      assert.isAbove(Number(events[0]?.["count"]), 0)
    })
  )

  it.effect("A schedule has ten runs in progress, further times are skipped, and the newest ended runs are kept", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const { fire } = yield* ScheduleTicks
      const sql = yield* SqlClient
      const { id } = yield* create(owner, { ...daily, cron: "* * * * * *", onMissed: "all" })
      const fireAgain = Effect.gen(function* () {
        yield* sql`update schedules set planned_at = now() - interval '1 minute',
          next_due_at = coalesce((select max(due_at) from agent_runs where schedule_id = ${id}), now() - interval '20 seconds')
            + interval '1 second' where id = ${id}`
        yield* fire
      })
      yield* fireAgain
      yield* Effect.repeat(fireAgain, {
        until: () => Effect.map(history(owner, id), ({ runs }) => runs.some(({ status }) => status === "skipped"))
      })
      const { runs, total } = yield* history(owner, id)
      assert.lengthOf(
        runs.filter(({ status }) => status === "waiting"),
        10
      )
      assert.include(
        runs.map(({ reason }) => reason),
        "10 earlier runs had not ended."
      )
      const { prune } = yield* AgentRunRepository
      yield* prune(DateTime.unsafeMake(0), 1)
      const kept = yield* history(owner, id)
      assert.isAbove(total, 11)
      assert.deepStrictEqual(kept.runs, [...runs.slice(0, 1), ...runs.filter(({ status }) => status === "waiting")])
    })
  )

  it.effect("Runs show why they did not happen: no units, a stopped agent, a suspended owner, a failing agent", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const sql = yield* SqlClient
      const { withBehavior } = yield* AgentManagerTest
      const lastOf = Effect.gen(function* () {
        const { id } = yield* createDue(owner)
        yield* ScheduleWorker.runSchedules
        const [run] = (yield* history(owner, id)).runs
        yield* call(owner, "DELETE", `/schedules/${id}`)
        return [run?.status, run?.reason, run?.units]
      })
      const failing = withBehavior({ chat: () => Stream.fail(new TurnFailed({ reason: "the model is away" })) })
      assert.deepStrictEqual(yield* failing(lastOf), ["failed", "the model is away", 0])
      yield* setAgent(owner, "stopped")
      assert.deepStrictEqual(yield* lastOf, ["skipped", "The agent is not running: its status is stopped.", 0])
      yield* setAgent(owner, "running")
      yield* exhaustUnits(owner)
      assert.deepStrictEqual(yield* lastOf, ["refused", "No units were left.", 0])
      const { id } = yield* createDue(owner)
      yield* sql`update users set suspended_at = now() where id = ${owner.user.id}`
      yield* ScheduleWorker.runSchedules
      const runs = yield* sql`select state, reason from agent_runs where schedule_id = ${id}`
      assert.deepStrictEqual(runs, [{ state: "skipped", reason: "The owner's account is suspended." }])
    })
  )

  it.effect("Times within a minute of a refused run are counted in that run, and run again afterwards", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const sql = yield* SqlClient
      yield* exhaustUnits(owner)
      const { id } = yield* createDue(owner, { ...daily, onMissed: "all" })
      yield* ScheduleWorker.runSchedules
      for (const ago of ["3 seconds", "2 seconds"]) {
        yield* makeDue(id, ago)
        yield* ScheduleWorker.runSchedules
      }
      const refused = yield* history(owner, id)
      assert.strictEqual(refused.total, 1)
      assert.deepInclude(refused.runs[0], { status: "refused", repeats: 2 })
      yield* sql`update agent_runs set ended_at = ended_at - interval '1 minute' where schedule_id = ${id}`
      yield* makeDue(id, "0 seconds")
      yield* ScheduleWorker.runSchedules
      assert.strictEqual((yield* history(owner, id)).total, 2)
    })
  )

  it.effect("Concurrent changes of a schedule's members are all stored", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const { id } = yield* create(owner)
      const changes = {
        cron: "0 10 * * *",
        timezone: "Asia/Tokyo",
        prompt: "Good evening",
        onMissed: "skip",
        enabled: false
      }
      yield* Effect.forEach(
        Object.entries(changes),
        ([member, value]) => call(owner, "PATCH", `/schedules/${id}`, { [member]: value }),
        { concurrency: "unbounded" }
      )
      const { body } = yield* call(owner, "PATCH", `/schedules/${id}`, {})
      assert.deepInclude(body["schedule"], changes)
    })
  )

  it.effect("A tick does not wait for the deletion of its agent, nor the deletion for a deadlock", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const sql = yield* SqlClient
      const { fire } = yield* ScheduleTicks
      const { id } = yield* createDue(owner)
      const isLocked = yield* Effect.makeLatch(false)
      const mayDelete = yield* Effect.makeLatch(false)
      // The first step of a deletion, before its cascade reaches the schedules.
      const deletion = yield* Effect.fork(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`select id from agents where id = ${owner.agent.id} for update`
            yield* isLocked.open
            yield* mayDelete.await
            yield* sql`delete from agents where id = ${owner.agent.id}`
          })
        )
      )
      yield* isLocked.await
      yield* fire
      assert.strictEqual((yield* sql`select id from agent_runs where schedule_id = ${id}`).length, 0)
      yield* mayDelete.open
      yield* Fiber.join(deletion)
      yield* fire
      assert.strictEqual((yield* sql`select id from schedules where id = ${id}`).length, 0)
    })
  )

  it.effect("A schedule and a run of a skill are created once per Idempotency-Key", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const post = (path: string, json: unknown) =>
        App.web({
          method: "POST",
          path: `/api/agents/${owner.agent.id}${path}`,
          as: owner,
          json,
          headers: { "idempotency-key": "one" }
        })
      const twice = (path: string, json: unknown) => Effect.replicateEffect(post(path, json), 2, { concurrency: 2 })
      const [first, second] = yield* twice("/schedules", daily)
      assert.deepStrictEqual([first?.status, first?.body], [201, second?.body])
      assert.lengthOf(yield* list(owner), 1)
      yield* enable(owner)
      const [run, repeated] = yield* twice("/skills/time/runs", {})
      assert.deepStrictEqual([run?.status, run?.body], [202, repeated?.body])
    })
  )

  it.effect("The heartbeat of an agent's configuration is one of its schedules, with its changes and its removal", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const set = (heartbeat: string | null) => call(owner, "PUT", "/config", { heartbeat, timezone: "Europe/Berlin" })
      assert.strictEqual((yield* set("0 8 * * *")).status, 200)
      const [heartbeat] = yield* list(owner)
      if (heartbeat === undefined) return assert.fail("The agent has no heartbeat")
      assert.deepInclude(heartbeat, { cron: "0 8 * * *", heartbeat: true, enabled: true })
      for (const method of ["PATCH", "DELETE"])
        assertError(yield* call(owner, method, `/schedules/${heartbeat.id}`, {}), {
          status: 400,
          code: "heartbeat_not_changeable"
        })
      yield* makeDue(heartbeat.id)
      yield* ScheduleWorker.runSchedules
      const [run] = (yield* history(owner, heartbeat.id)).runs
      assert.deepInclude(run, { status: "succeeded", units: 1 })
      assert.match(run?.result ?? "", /^Echo: This is your heartbeat/)
      yield* set("0 9 * * *")
      assert.deepStrictEqual(
        (yield* list(owner)).map(({ cron, id }) => [cron, id]),
        [["0 9 * * *", heartbeat.id]]
      )
      yield* set(null)
      assert.deepStrictEqual(yield* list(owner), [])
    })
  )

  it.effect("A heartbeat that names no time is rejected with the sentence of a schedule", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const never = "0 0 30 2 *"
      const schedule = yield* call(owner, "POST", "/schedules", { cron: never, prompt: "Report." })
      assertError(schedule, { status: 400, code: "schedule_invalid" })
      assert.strictEqual(schedule.body["message"], "cron names no time that will come.")
      const config = yield* call(owner, "PUT", "/config", { heartbeat: never })
      assertError(config, { status: 400, code: "invalid_request" })
      const issues = [{ path: "heartbeat", message: "names no time that will come." }]
      assert.deepStrictEqual(config.body["issues"], issues)
      const often = yield* call(owner, "PUT", "/config", { heartbeat: "often" })
      assert.deepStrictEqual(often.body["issues"], [
        { path: "heartbeat", message: "must be a cron expression or null" }
      ])
      assert.deepStrictEqual(yield* list(owner), [])
    })
  )

  it.effect("A run waits for a busy backend by its job's retries, and fails at the last attempt", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("enterprise")
      const { id } = yield* createDue(owner)
      const { fire } = yield* ScheduleTicks
      yield* fire
      const entry = yield* jobOf(owner, id)
      if (entry === undefined) return assert.fail("The tick has no job")
      const sql = yield* SqlClient
      const hide = sql`alter table chat_sessions rename to hidden`
      const show = sql`alter table hidden rename to chat_sessions`
      const failing = (isLast: boolean) =>
        Effect.acquireUseRelease(
          Effect.orDie(hide),
          () => Effect.exit(ScheduleWorker.runJob(entry, isLast)),
          () => Effect.orDie(show)
        )
      assert.strictEqual((yield* failing(false))._tag, "Failure")
      assert.deepStrictEqual(
        (yield* history(owner, id)).runs.map(({ status }) => status),
        ["running"]
      )
      assert.strictEqual((yield* failing(true))._tag, "Success")
      const [run] = (yield* history(owner, id)).runs
      assert.strictEqual(run?.status, "failed")
      assert.match(run?.reason ?? "", /internal error|backend/)
    })
  )
})

layer(ScheduleWorker.layer, { excludeTestServices: true })("Runs of skills", (it) => {
  const start = (owner: OwnerWithAgent, skill: string, input?: unknown) =>
    call(owner, "POST", `/skills/${skill}/runs`, input === undefined ? {} : { input })
  const read = (owner: OwnerWithAgent, skill: string, id: string) =>
    Effect.map(call(owner, "GET", `/skills/${skill}/runs/${id}`), ({ body }) => decodeRun(body).run)

  it.effect(
    "Runs of skills are accepted, run the tool with its arguments in the instance, and end with its result",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent("pro")
        yield* enable(owner)
        const { calls, withBehavior } = yield* AgentManagerTest
        const accepted = yield* start(owner, "calculator", { arguments: { expression: "6 * 7" } })
        assert.strictEqual(accepted.status, 202, accepted.text)
        const id = String(accepted.body["id"])
        assert.deepInclude(yield* read(owner, "calculator", id), { status: "waiting", result: null, units: null })
        yield* ScheduleWorker.runSchedules.pipe(
          withBehavior({ chat: () => Stream.make({ type: "done" as const, reply: "42", model: "m" }) })
        )
        assert.deepInclude(yield* read(owner, "calculator", id), { status: "succeeded", result: "42", units: 1 })
        const turn = (yield* calls).findLast(({ target }) => target === owner.user.id)?.turn
        assert.deepStrictEqual(turn?.invocation, { tool: "calculate", arguments: { expression: "6 * 7" } })
        assert.isTrue(turn?.fromOwner)
      })
  )

  it.effect("Runs of skills are refused for unknown and disabled skills, tools and arguments", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      assertError(yield* start(owner, "nowhere"), { status: 404, code: "skill_not_found" })
      assertError(yield* start(owner, "time"), { status: 400, code: "skill_disabled" })
      yield* enable(owner)
      for (const input of [
        undefined,
        { arguments: { expression: 1 } },
        { tool: "delete_file" },
        { tool: "toString", arguments: {} }
      ])
        assertError(yield* start(owner, "calculator", input), { status: 400, code: "skill_input_invalid" })
      assertError(yield* start(owner, "calculator", { arguments: "1" }), { status: 400, code: "invalid_request" })
      const schedule = { cron: "0 9 * * *", skillId: "calculator", input: { arguments: { expression: "1" } } }
      const created = yield* call(owner, "POST", "/schedules", schedule)
      assert.deepInclude(created.body["schedule"], { input: { tool: "calculate", arguments: { expression: "1" } } })
      assertError(yield* call(owner, "POST", "/schedules", { ...schedule, input: {} }), {
        status: 400,
        code: "skill_input_invalid"
      })
    })
  )

  it.effect("Runs of skills in progress are limited per agent under concurrent requests", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      yield* enable(owner)
      const started = yield* Effect.replicateEffect(start(owner, "time"), maximumSkillRunsInProgress + 3, {
        concurrency: 8
      })
      const refused = started.filter(({ status }) => status !== 202)
      assert.lengthOf(refused, 3)
      for (const response of refused) assertError(response, { status: 429, code: "skill_run_limit_reached" })
      const accepted = started.find(({ status }) => status === 202)
      yield* call(owner, "DELETE", `/skills/time/runs/${String(accepted?.body["id"])}`)
      assert.strictEqual((yield* start(owner, "time")).status, 202)
    })
  )

  it.effect("Runs of skills are canceled once, and a later job has no effect", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("pro")
      yield* enable(owner)
      const { body } = yield* start(owner, "time")
      const id = String(body["id"])
      const before = yield* Effect.flatMap(UnitLedger, ({ findUsage }) => findUsage(owner.user))
      for (const _ of [1, 2]) {
        const canceled = yield* call(owner, "DELETE", `/skills/time/runs/${id}`)
        assert.strictEqual(decodeRun(canceled.body).run.status, "canceled")
      }
      yield* ScheduleWorker.runSchedules
      assert.deepInclude(yield* read(owner, "time", id), { status: "canceled", result: null })
      assert.deepStrictEqual(yield* Effect.flatMap(UnitLedger, ({ findUsage }) => findUsage(owner.user)), before)
      assertError(yield* call(owner, "GET", `/skills/calculator/runs/${id}`), {
        status: 404,
        code: "agent_run_not_found"
      })
    })
  )
})
