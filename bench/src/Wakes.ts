import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { UserId } from "@berth/domain/shared/UserId"
import { freePort } from "@berth/test/support/FreePort"
import { Deferred, Effect, Option, Schema } from "effect"
import { totalmem } from "node:os"
import type { Database } from "./berth/Database.ts"
import { dockerEnvironment, dockerNetwork, runDocker } from "./berth/Docker.ts"
import { type HostedBerth, hostBerth } from "./berth/HostedBerth.ts"
import { MeasurementNotPossible } from "./berth/MeasurementNotPossible.ts"
import { createOwners, type Owner, ownerPost } from "./berth/Owners.ts"
import { listChildren, readCpuSeconds, readResidentMemory } from "./berth/Processes.ts"
import { putToSleep, readTransactions } from "./berth/Sleep.ts"
import { upstreamEnvironment } from "./Chats.ts"
import { attempt, type Attempts, summarizeAttempts } from "./measure/Attempts.ts"
import { median } from "./measure/Latencies.ts"
import { openConnection, requestOnce } from "./measure/TimedRequest.ts"
import { formatFigure } from "./report/Figure.ts"
import type { RunSize } from "./RunSize.ts"
import type { Scenario } from "./Scenario.ts"
import { startBareContainer, startBareProcess } from "./servers/BareInstance.ts"
import { startServer } from "./servers/ServerProcess.ts"

const wakeAims = { process: 300, Docker: 800 }
const memoryAim = 60
const provisionCall = { name: "First mate", model: "custom", config: { customModel: "openai/gpt-4o-mini" } }
const message = { message: "Ahoy! Who are you?" }

const Row = Schema.Struct({ ownerId: UserId, status: AgentStatus })

/** Completes each owner's deferred when the agent runs. Polls the database for all, to leave the API idle. */
const watchAgents = (
  database: Database,
  agents: ReadonlyMap<UserId, Deferred.Deferred<void, MeasurementNotPossible>>
) =>
  Effect.gen(function* () {
    const rows = yield* database.select(
      Row,
      `select owner_id as "ownerId", status from agents where owner_id = any($1::text[]) and status <> 'provisioning'`,
      [[...agents.keys()]]
    )
    for (const { ownerId, status } of rows) {
      const running = agents.get(ownerId)
      if (running === undefined) continue
      yield* status === "error"
        ? Deferred.fail(running, new MeasurementNotPossible({ reason: `The agent of ${ownerId} is in error.` }))
        : Deferred.succeed(running, undefined)
    }
  }).pipe(Effect.delay("10 millis"), Effect.forever, Effect.forkScoped)

const chat = ({ berth }: HostedBerth, owner: Owner) =>
  Effect.scoped(
    Effect.flatMap(openConnection(berth.webUrl), (client) =>
      Effect.asVoid(requestOnce(client, ownerPost(owner, "/api/agent", message)))
    )
  )

/** From the request for an agent to its first answer. */
const startCold = (hosted: HostedBerth, owners: ReadonlyArray<Owner>, concurrency: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const agents = new Map<UserId, Deferred.Deferred<void, MeasurementNotPossible>>()
      for (const { userId } of owners) agents.set(userId, yield* Deferred.make<void, MeasurementNotPossible>())
      yield* watchAgents(hosted.database, agents)
      return yield* Effect.forEach(
        owners,
        (owner) =>
          attempt(
            Effect.gen(function* () {
              const client = yield* openConnection(hosted.berth.webUrl)
              yield* requestOnce(client, ownerPost(owner, "/api/agents/provision", provisionCall, 201))
              const running = agents.get(owner.userId)
              if (running !== undefined) yield* Deferred.await(running)
              yield* requestOnce(client, ownerPost(owner, "/api/agent", message))
            }).pipe(Effect.scoped)
          ),
        { concurrency }
      )
    })
  )

/** From the message to the first answer of sleeping instances. */
const wake = (hosted: HostedBerth, owners: ReadonlyArray<Owner>, concurrency: number) =>
  Effect.zipRight(
    putToSleep(
      hosted,
      owners.map(({ userId }) => userId)
    ),
    Effect.forEach(owners, (owner) => attempt(chat(hosted, owner)), { concurrency })
  )

interface Place {
  readonly name: "process" | "Docker"
  readonly environment: Readonly<Record<string, string>>
  /** Milliseconds of a bare Node.js server from its start to its first answer. */
  readonly bare: Effect.Effect<number>
  /** Process ids of the instances. */
  readonly instances: (server: number) => Effect.Effect<ReadonlyArray<number>>
}

const containerPids = Effect.flatMap(runDocker("ps", "--quiet", "--filter", `network=${dockerNetwork}`), (ids) =>
  ids === ""
    ? Effect.succeed([])
    : Effect.map(runDocker("inspect", "--format", "{{.State.Pid}}", ...ids.split("\n")), (pids) =>
        pids.split("\n").map(Number)
      )
)

const measure = (upstream: string, { bare, environment, instances, name }: Place, amounts: RunSize) =>
  Effect.gen(function* () {
    const hosted = yield* hostBerth({ ...upstreamEnvironment(upstream), INSTANCE_IDLE: "20s", ...environment })
    const { server } = yield* hosted.berth.pids
    const bareTimes = yield* Effect.replicateEffect(Effect.asSome(bare), amounts.coldStarts)
    const owners = yield* createOwners(hosted, amounts.coldStarts)
    const cold = yield* startCold(hosted, owners, 1)

    const rounds = yield* Effect.replicateEffect(
      Effect.gen(function* () {
        yield* putToSleep(
          hosted,
          owners.map(({ userId }) => userId)
        )
        const before = { cpu: yield* readCpuSeconds(server), transactions: yield* readTransactions(hosted) }
        const times = yield* Effect.forEach(owners, (owner) => attempt(chat(hosted, owner)))
        const cpu = (yield* readCpuSeconds(server)) - before.cpu
        const pids = yield* instances(server)
        const own = yield* Effect.forEach(pids, readCpuSeconds)
        return {
          times,
          serverCpu: (cpu * 1000) / owners.length,
          instanceCpu: median(own) * 1000,
          transactions: ((yield* readTransactions(hosted)) - before.transactions) / owners.length
        }
      }),
      amounts.wakeRounds
    )
    yield* putToSleep(
      hosted,
      owners.map(({ userId }) => userId)
    )
    const asleep = yield* instances(server)
    yield* Effect.forEach(owners, (owner) => chat(hosted, owner))
    // The runtime collects garbage a second after its start, and after turns.
    yield* Effect.sleep("3 seconds")
    const awake = yield* Effect.forEach(yield* instances(server), (pid) => readResidentMemory([pid]))

    const crowd = yield* createOwners(hosted, amounts.wakesAtOnce)
    const coldAtOnce = yield* startCold(hosted, crowd, amounts.wakesAtOnce)
    const wakesAtOnce = yield* wake(hosted, crowd, amounts.wakesAtOnce)
    const pss = median(awake.map((memory) => memory.pss))
    return {
      name,
      bare: summarizeAttempts(bareTimes),
      cold: summarizeAttempts(cold),
      wakes: summarizeAttempts(rounds.flatMap(({ times }) => times)),
      coldAtOnce: summarizeAttempts(coldAtOnce),
      wakesAtOnce: summarizeAttempts(wakesAtOnce),
      perWake: {
        serverCpuMs: median(rounds.map(({ serverCpu }) => serverCpu)),
        instanceCpuMs: median(rounds.map(({ instanceCpu }) => instanceCpu)),
        transactions: median(rounds.map(({ transactions }) => transactions))
      },
      mib: { rss: median(awake.map((memory) => memory.rss)), pss, asleepProcesses: asleep.length },
      /** Awake instances whose memory fits, a quarter left for the rest. */
      fitInMemory: Math.floor((totalmem() / 1024 / 1024) * (0.75 / pss))
    }
  }).pipe(Effect.scoped)

type Measured = Effect.Effect.Success<ReturnType<typeof measure>>

const rowsOf = (it: Measured) => {
  const row = (what: string, times: Attempts, ratio: boolean, aim = "") => [
    `${it.name}: ${what}`,
    String(times.count),
    ...[times.p50, times.p95, times.p99].map(formatFigure),
    `${formatFigure(times.succeeded * 100)} %`,
    ratio ? formatFigure(times.p50 / it.bare.p50) : "",
    aim
  ]
  return [
    row("bare node:http, start to answer", it.bare, false),
    row("provision to first answer", it.cold, true),
    row("wake to first answer", it.wakes, true, formatFigure(wakeAims[it.name])),
    row(`provision to first answer, ${it.coldAtOnce.count} at once`, it.coldAtOnce, false),
    row(`wake to first answer, ${it.wakesAtOnce.count} at once`, it.wakesAtOnce, false)
  ]
}

/** Sleeping instances woken by a message, one by one and all at once, beside a bare Node.js server in the same place. */
export const wakes: Scenario = (amounts) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("Upstream")
    const process: Place = {
      name: "process",
      environment: {},
      bare: Effect.flatMap(freePort, startBareProcess),
      instances: listChildren
    }
    const docker = yield* dockerEnvironment
    const places: ReadonlyArray<Place> = [
      process,
      ...Option.toArray(docker).map(({ environment, image }): Place => ({
        name: "Docker",
        environment,
        bare: startBareContainer(image),
        instances: () => containerPids
      }))
    ]
    const measured = yield* Effect.forEach(places, (place) => measure(upstream.origin, place, amounts))
    return {
      figures: { unit: "ms", aims: { wakes: wakeAims, mib: memoryAim }, measured },
      tables: [
        {
          title: "Instances: start and wake (ms)",
          columns: ["from", "times", "p50", "p95", "p99", "success", "p50 to bare", "aim of p50"],
          rows: measured.flatMap(rowsOf),
          note: Option.isNone(docker) ? "Docker: not measured without DOCKER_HOST." : ""
        },
        {
          title: "Instances: costs",
          columns: [
            "",
            "server cpu ms/wake",
            "instance cpu ms",
            "transactions/wake",
            "rss MiB",
            "pss MiB",
            "asleep",
            "fit"
          ],
          rows: measured.map((it) => [
            it.name,
            ...[it.perWake.serverCpuMs, it.perWake.instanceCpuMs, it.perWake.transactions, it.mib.rss, it.mib.pss].map(
              formatFigure
            ),
            `${it.mib.asleepProcesses} processes`,
            String(it.fitInMemory)
          ]),
          note: `Aim of rss: ${memoryAim} MiB awake. fit: awake instances in 75 % of this machine's memory, by pss.`
        }
      ],
      panels: [
        {
          title: "Wake to first answer, p50",
          unit: "ms",
          bars: measured.flatMap((it) => [
            { label: it.name, value: it.wakes.p50, aim: wakeAims[it.name] },
            { label: `bare server, ${it.name}`, value: it.bare.p50, isBaseline: true }
          ])
        }
      ]
    }
  })
