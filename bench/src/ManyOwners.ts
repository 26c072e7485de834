import { Clock, Data, Effect, Schema } from "effect"
import type { Database } from "./berth/Database.ts"
import { hostBerth } from "./berth/HostedBerth.ts"
import { createOwners, type Owner, ownerPost } from "./berth/Owners.ts"
import { listChildren, readResidentMemory } from "./berth/Processes.ts"
import { upstreamEnvironment } from "./Chats.ts"
import { requestOnce, openConnection } from "./measure/TimedRequest.ts"
import { summarizeLatencies, median } from "./measure/Latencies.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { startServer } from "./servers/ServerProcess.ts"

const runtimeMemoryAim = 80
const model = "openai/gpt-4o-mini"

class AgentsNotRunning extends Data.TaggedError("AgentsNotRunning")<{ readonly reason: string }> {
  override get message() {
    return `Some agents do not run: ${this.reason}`
  }
}

const Counts = Schema.Struct({ up: Schema.Int, failed: Schema.Int })
const countQuery = `
  select count(*) filter (where status in ('running', 'active'))::int as up,
    count(*) filter (where status = 'error')::int as failed
  from agents`

const awaitAllRunning = (database: Database, count: number) =>
  Effect.gen(function* () {
    for (;;) {
      const [counts] = yield* database.select(Counts, countQuery, [])
      if (counts !== undefined && counts.failed > 0)
        return yield* new AgentsNotRunning({ reason: `${counts.failed} are in error` })
      if (counts?.up === count) return
      yield* Effect.sleep("50 millis")
    }
  }).pipe(
    Effect.timeoutFail({
      duration: "10 minutes",
      onTimeout: () => new AgentsNotRunning({ reason: "it took longer than ten minutes" })
    })
  )

/** Memory of the instances, in MiB. */
const runtimeMemoryOf = (server: number) =>
  Effect.gen(function* () {
    const instances = yield* Effect.forEach(yield* listChildren(server), (pid) => readResidentMemory([pid]))
    const rss = instances.map((instance) => instance.rss)
    const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)
    return {
      instances: instances.length,
      rss: sum(rss),
      pss: sum(instances.map(({ pss }) => pss)),
      perInstance: median(rss),
      largest: Math.max(...rss)
    }
  })

/** Many owners with several agents each on one machine: all agents are provisioned at once, then each owner sends a message. */
export const manyOwners: Scenario = ({ agentsEach, ownersInCrowd, settleSeconds }) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("Upstream")
    const hosted = yield* hostBerth(upstreamEnvironment(upstream.origin))
    const { server } = yield* hosted.berth.pids
    const owners = yield* createOwners(hosted, ownersInCrowd)
    const agents = ownersInCrowd * agentsEach

    /** Every owner concurrently, each on a separate connection, `times` requests each. */
    const everyOwner = (callOf: (owner: Owner) => ReturnType<typeof ownerPost>, times: number) =>
      Effect.map(
        Effect.forEach(
          owners,
          (owner) =>
            Effect.scoped(
              Effect.flatMap(openConnection(hosted.berth.webUrl), (client) =>
                Effect.replicateEffect(requestOnce(client, callOf(owner)), times)
              )
            ),
          { concurrency: "unbounded" }
        ),
        (answers) => summarizeLatencies(answers.flat().map(({ took }) => took))
      )
    const provision = { name: "First mate", model: "custom", config: { customModel: model } }

    const began = yield* Clock.currentTimeNanos
    const accepted = yield* everyOwner((owner) => ownerPost(owner, "/api/agents/provision", provision, 201), agentsEach)
    yield* awaitAllRunning(hosted.database, agents)
    const allRun = Number((yield* Clock.currentTimeNanos) - began) / 1e6

    yield* Effect.sleep(`${settleSeconds} seconds`)
    const idle = yield* runtimeMemoryOf(server)
    if (idle.instances !== ownersInCrowd)
      return yield* new AgentsNotRunning({ reason: `${idle.instances} instances for ${ownersInCrowd} owners` })
    const chats = yield* everyOwner((owner) => ownerPost(owner, "/api/agent", { message: "Ahoy! Who are you?" }), 1)
    const afterChats = yield* runtimeMemoryOf(server)

    const memory = (name: string, it: typeof idle) => [
      name,
      String(it.instances),
      ...[it.rss, it.pss, it.perInstance, it.largest].map(formatFigure)
    ]
    return {
      figures: {
        owners: ownersInCrowd,
        agents,
        ms: { accepted, allRun, chats },
        mib: { instanceAim: runtimeMemoryAim, idle, afterChats }
      },
      tables: [
        {
          title: `${agents} agents of ${ownersInCrowd} owners (ms)`,
          columns: ["all at once", "p50", "p95", "p99", "max"],
          rows: [
            [
              "POST /api/agents/provision",
              ...[accepted.p50, accepted.p95, accepted.p99, accepted.max].map(formatFigure)
            ],
            ["a chat with each owner's agent", ...[chats.p50, chats.p95, chats.p99, chats.max].map(formatFigure)]
          ],
          note: `All run ${formatFigure(allRun / 1000)} s after the first request.`
        },
        {
          title: "Memory of their instances (MiB)",
          columns: ["when", "instances", "total rss", "total pss", "rss per instance", "largest"],
          rows: [memory("all run, idle", idle), memory("after the chats", afterChats)],
          note: `One instance per owner with ${agentsEach} agents (aim: under ${runtimeMemoryAim} per instance). pss counts shared pages once.`
        }
      ],
      panels: [
        {
          title: `${agents} agents of ${ownersInCrowd} owners: resident memory`,
          unit: "MiB",
          bars: [
            { label: "instance, idle", value: idle.perInstance, aim: runtimeMemoryAim },
            { label: "instance, after the chats", value: afterChats.perInstance, aim: runtimeMemoryAim }
          ]
        }
      ]
    }
  })
