import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import { assert, it } from "@effect/vitest"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, Duration, Effect, Exit, Schedule, type Scope } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { eventually } from "../support/Eventually.ts"
import { dockerEngine } from "../support/DockerDaemon.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { describeWithTool } from "../support/RequiredTools.ts"
import { startBerth } from "./BerthProcess.ts"
import { type ChaosHost, openDockerHost, processHost } from "./ChaosHosts.ts"
import { type ChaosVerb, makeChaosRounds } from "./ChaosScenario.ts"
import { memberAt, textOrEmpty } from "./MainJobSteps.ts"
import { runJobChaos } from "./JobChaos.ts"
import * as Records from "./ServiceDatabase.ts"
import { type SignedUpClient, signUpClient } from "./WebClient.ts"

/* `npm run test:chaos` sets these; the defaults are the short set of `npm test`. */
const setting = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise)
const isLong = process.env["CHAOS_SEEDS"] !== undefined
const seeds = Array.makeBy(setting("CHAOS_SEEDS", 1), (index) => setting("CHAOS_FIRST_SEED", isLong ? 1 : 3) + index)
const rounds = isLong ? 4 : 2
const cycles = setting("CHAOS_CYCLES", 3)
const jobs = setting("CHAOS_JOBS", 0)
const drivers = (process.env["CHAOS_DRIVER"] ?? "process").split(",")

const model = "openai/gpt-4o-mini"
const many = { concurrency: "unbounded" } as const
const waitLimit = "90 seconds"

const say = (text: string) => Effect.sync(() => process.stderr.write(`${text}\n`))

/** Backdates the last use of an instance, so that the next scan stops it. */
const backdateUse = (userId: UserId) =>
  Effect.flatMap(SqlClient, (sql) => sql`update instances set last_used_at = '2000-01-01' where owner_id = ${userId}`)

const openService = (host: ChaosHost) =>
  Effect.gen(function* () {
    const upstream = yield* makeFakeOpenAi()
    const databaseUrl = yield* migratedDatabase
    const berth = yield* startBerth({
      databaseUrl,
      environment: {
        OPENAI_BASE_URL: upstream.baseUrl,
        OPENAI_API_KEY: upstream.apiKey,
        // The discard port: tests do not read the public model list.
        OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1",
        LIMIT_REGISTER: "1000/1h",
        LIMIT_SIGN_IN: "1000/1h",
        DRAIN_SECONDS: "2",
        WORKER_DRAIN_SECONDS: "2",
        // Scans every second; instances sleep only when a test backdates their use.
        INSTANCE_IDLE: "4s",
        ...host.environment
      }
    })
    return { berth, upstream, databaseUrl }
  })
type Service = Effect.Effect.Success<ReturnType<typeof openService>>

interface Owner extends SignedUpClient {
  readonly name: string
}

const subscriber = ({ berth }: Service, name: string) =>
  Effect.gen(function* () {
    const person = yield* signUpClient(berth.webUrl)
    yield* Records.insertSubscription(person.userId, "pro")
    // The free plan has fewer daily units than the long set has turns.
    yield* Effect.flatMap(SqlClient, (sql) => sql`update users set plan = 'pro' where id = ${person.userId}`)
    return { ...person, name } satisfies Owner
  })

const provision = (person: Owner) =>
  Effect.flatMap(person.provision("Ada", model), ({ id }) => Effect.as(person.untilRunning(id), id))

const statusesOf = (person: Owner) =>
  Effect.map(person.raw("GET", "/api/agents"), ({ body }) => {
    const agents = memberAt(body, "agents")
    return Array.isArray(agents) ? agents.map((agent) => textOrEmpty(memberAt(agent, "status"))) : []
  })

/** The rows of an owner and the instances that run for it. */
const readState = (host: ChaosHost, person: Owner) =>
  Effect.all({
    desired: Records.readDesiredState(person.userId),
    agents: statusesOf(person),
    running: host.countRunning(person.userId)
  })

/** One instance if the rows require one, else none. A call in progress when its program was killed has either state. */
const isSettled = ({ agents, desired, running }: Effect.Effect.Success<ReturnType<typeof readState>>) => {
  if (desired === undefined) return running === 0 && agents.length === 0
  if (agents.length === 0 || agents.includes("provisioning")) return false
  const areUp = agents.every((status) => status === "running" || status === "active")
  if (desired === "up" && agents.every((status) => status === "error")) return running === 0
  return desired === "up" ? running === 1 && areUp : running === 0 && areUp === (desired === "asleep")
}

const untilSettled = (host: ChaosHost, people: ReadonlyArray<Owner>, when: string) =>
  Effect.forEach(
    people,
    (person) =>
      eventually(
        Effect.orElseSucceed(readState(host, person), () => ({ desired: "unknown", agents: [], running: -1 })),
        isSettled,
        {
          description: `one instance exactly if the rows say so for ${person.name} ${person.userId} ${when}`,
          timeout: waitLimit
        }
      ),
    many
  )

/** Every message has one reply or has failed, none is open, and the units match. */
const expectAccounts = ({ userId }: Owner, answered: number) =>
  Effect.gen(function* () {
    const accounts = yield* eventually(
      Records.readMessageAccounts(userId),
      ({ open, pending }) => pending === 0 && open === 0,
      { description: "an end of every message", timeout: waitLimit }
    )
    assert.strictEqual(accounts.replies, accounts.answered)
    assert.isAtLeast(accounts.answered, answered)
    assert.deepStrictEqual([accounts.booked, accounts.ledger], [accounts.used, accounts.used])
  })

const askedUpstream = ({ upstream }: Service) =>
  upstream.received.flatMap(({ body }) => {
    const messages = memberAt(body, "messages")
    return Array.isArray(messages) ? [textOrEmpty(memberAt(messages.at(-1), "content"))] : []
  })

const runSeed = (host: ChaosHost, service: Service, seed: number) =>
  Effect.gen(function* () {
    const { berth } = service
    const plan = makeChaosRounds(seed, rounds, host.victims)
    yield* say(`chaos seed ${seed} (${host.name})`)
    const before = yield* host.countLeftovers(berth.place.dataDirectory)
    const owners = yield* Effect.forEach(["first", "second"], (name) => subscriber(service, name))
    yield* Effect.forEach(owners, provision, many)
    const people: Array<Owner> = [...owners]
    let answered = new Map<UserId, number>()

    const act = (person: Owner, verb: ChaosVerb, message: string): Effect.Effect<void, unknown, SqlClient> => {
      if (verb === "sleep") return Effect.asVoid(backdateUse(person.userId))
      if (verb !== "chat") return Effect.asVoid(person.raw("POST", `/api/instance/${person.userId}/${verb}`))
      return Effect.map(person.chat(message), ({ reply }) => {
        assert.strictEqual(reply, `You said: ${message}`)
        answered = new Map(answered).set(person.userId, (answered.get(person.userId) ?? 0) + 1)
      })
    }

    for (const [number, { calls, delayMs, provisions, step, victims }] of plan.entries()) {
      const when = `after round ${number + 1} of seed ${seed}`
      yield* say(
        `  round ${number + 1}: ${calls.map((verbs) => verbs.join("+")).join(", ")}${provisions ? ", provision" : ""}; ` +
          `kill ${victims.join(", ")} ${delayMs} ms after ${step ?? "the request"}`
      )
      const newcomer = provisions ? [yield* subscriber(service, `newcomer ${number + 1}`)] : []
      const begun = (yield* berth.logs).length
      const work: ReadonlyArray<Effect.Effect<void, unknown, SqlClient>> = [
        ...newcomer.map((person) => Effect.asVoid(person.provision("Ada", model))),
        ...owners.flatMap((person, index) =>
          (calls[index] ?? []).map((verb, call) => act(person, verb, `${seed}-${number}-${person.name}-${call}`))
        )
      ]
      const acting = yield* Effect.fork(Effect.forEach(work, (call) => Effect.exit(call), many))
      if (step !== null)
        yield* berth.logs.pipe(
          Effect.repeat({
            until: (text) => text.slice(begun).includes(`"${step}"`),
            schedule: Schedule.spaced("20 millis")
          }),
          Effect.timeoutOption("2 seconds")
        )
      yield* Effect.sleep(delayMs)
      for (const victim of victims)
        if (victim === "engine") yield* host.killEngine
        else if (victim === "instance") yield* Effect.forEach(owners, ({ userId }) => host.killInstance(berth, userId))
        else {
          const pid = (yield* berth.pids)[victim]
          yield* Effect.ignoreLogged(Effect.try(() => process.kill(pid, "SIGKILL")))
        }
      yield* acting.await
      yield* eventually(berth.ready, () => true, { description: `Berth ${when}`, timeout: waitLimit })
      // A rejected provisioning leaves nothing.
      for (const person of newcomer) {
        const { body, status } = yield* person.raw("GET", "/api/agents")
        assert.strictEqual(status, 200, JSON.stringify(body))
      }
      people.push(...newcomer)
      yield* untilSettled(host, people, when)
    }

    // Each owner can continue.
    for (const person of people) {
      if ((yield* statusesOf(person)).length === 0) yield* provision(person)
      assert.deepInclude(yield* person.raw("POST", `/api/instance/${person.userId}/start`), { status: 200 })
      // A conversation waits until its interrupted message has failed.
      yield* person.raw("POST", "/api/agent", { body: { action: "create-session" } })
      const message = `${seed}-last-${person.name}`
      assert.strictEqual((yield* person.chat(message)).reply, `You said: ${message}`)
      yield* expectAccounts(person, (answered.get(person.userId) ?? 0) + 1)
    }
    const requested = askedUpstream(service).filter((message) => message.startsWith(`${seed}-`))
    assert.deepStrictEqual(
      requested.filter((message, index) => requested.indexOf(message) !== index),
      [],
      "messages that were sent to the model twice"
    )
    yield* untilSettled(host, people, `at the end of seed ${seed}`)
    yield* Effect.forEach(people, (person) => person.raw("POST", `/api/instance/${person.userId}/stop`), many)
    yield* untilSettled(host, people, `after the stop of seed ${seed}`)
    const after = yield* host.countLeftovers(berth.place.dataDirectory)
    assert.deepStrictEqual(after, {
      ...before,
      running: 0,
      owners: before.owners + people.length,
      ...(before.volumes === undefined ? {} : { volumes: before.volumes + people.length })
    })
  })

/** Repeatedly puts an instance to sleep and wakes it, with its conversation and its files. */
const runCycles = (host: ChaosHost, service: Service) =>
  Effect.gen(function* () {
    const { berth } = service
    const person = yield* subscriber(service, "sleeper")
    const agentId: AgentId = yield* provision(person)
    const { sessionId } = yield* person.chat("cycle 0")
    const file = join(yield* host.findHome(berth, person.userId), "agents", agentId, "kept.txt")
    yield* host.prepareDirectory(file)
    yield* Effect.promise(() => writeFile(file, "kept"))
    let slowest = 0
    for (let cycle = 1; cycle <= cycles; cycle++) {
      yield* backdateUse(person.userId)
      yield* eventually(readState(host, person), (state) => state.desired === "asleep" && isSettled(state), {
        description: `sleep ${cycle}`,
        timeout: waitLimit
      })
      const [took, { reply }] = yield* Effect.timed(person.chat(`cycle ${cycle}`, sessionId))
      assert.strictEqual(reply, `You said: cycle ${cycle}`)
      slowest = Math.max(slowest, Duration.toMillis(took))
      assert.deepInclude(yield* readState(host, person), { desired: "up", running: 1 })
    }
    assert.strictEqual(yield* host.readFile(file), "kept")
    const { body } = yield* person.raw("GET", `/api/agent?action=session&sessionId=${sessionId}`)
    const messages = memberAt(body, "session", "messages")
    assert.deepStrictEqual(
      Array.isArray(messages) ? messages.map((message) => textOrEmpty(memberAt(message, "content"))) : [],
      Array.makeBy(cycles + 1, (cycle) => [`cycle ${cycle}`, `You said: cycle ${cycle}`]).flat()
    )
    yield* expectAccounts(person, cycles + 1)
    assert.deepInclude(yield* person.raw("POST", `/api/instance/${person.userId}/stop`), { status: 200 })
    yield* untilSettled(host, [person], "after the cycles")
    yield* say(`${cycles} sleeps (${host.name}), slowest wake ${slowest} ms`)
  })

const runAll = (open: Effect.Effect<ChaosHost, unknown, Scope.Scope>) =>
  Effect.gen(function* () {
    const host = yield* open
    const service = yield* openService(host)
    yield* Effect.gen(function* () {
      yield* runCycles(host, service)
      const failed: Array<number> = []
      for (const seed of seeds) {
        const exit = yield* Effect.exit(runSeed(host, service, seed))
        if (Exit.isSuccess(exit)) continue
        failed.push(seed)
        yield* say(`chaos seed ${seed} FAILED: npm run test:chaos -- --first ${seed} --seeds 1 --driver ${host.name}`)
        yield* say(String(exit.cause))
      }
      assert.deepStrictEqual(
        failed,
        [],
        "seeds that failed; each is replayed by `npm run test:chaos -- --first <seed>`"
      )
    }).pipe(Effect.provide(Records.layer(service.databaseUrl)))
  })

const timeout = Duration.toMillis(isLong ? "3 hours" : "3 minutes")

for (const store of jobs === 0 ? [] : (["redis", "postgres"] as const))
  for (const seed of seeds)
    it.scopedLive(
      `${jobs} jobs over ${store} are done once although workers and stores are killed, stopped and restarted, seed ${seed}`,
      () =>
        Effect.flatMap(runJobChaos(seed, jobs, store), (figures) =>
          say(`jobs chaos seed ${seed} (${store}): ${JSON.stringify(figures)}`)
        ),
      timeout
    )

if (jobs === 0 && drivers.includes("process"))
  it.scopedLive(
    "Berth with instances in processes converges after kill -9 at any step of seeded calls, and wakes instances with their state",
    () => runAll(Effect.succeed(processHost)),
    timeout
  )

if (jobs === 0 && drivers.includes("docker"))
  describeWithTool(dockerEngine, "Berth on a Docker Engine in chaos", () => {
    it.scopedLive(
      "Berth with instances in containers converges after kill -9 at any step of seeded calls, and wakes instances with their state",
      () => runAll(openDockerHost),
      timeout
    )
  })
