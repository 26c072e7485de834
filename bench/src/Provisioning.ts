import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { Clock, Data, Effect, Schema } from "effect"
import type { Client } from "undici"
import type { Database } from "./berth/Database.ts"
import { type HostedBerth, hostBerth } from "./berth/HostedBerth.ts"
import { createOwners, type Owner, ownerPost } from "./berth/Owners.ts"
import { requestOnce, openConnection } from "./measure/TimedRequest.ts"
import { type Latencies, summarizeLatencies, median } from "./measure/Latencies.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { UserId } from "@berth/domain/shared/UserId"

const acceptedAim = 25
const runningAim = 1500

class AgentNotRunning extends Data.TaggedError("AgentNotRunning")<{ readonly reason: string }> {
  override get message() {
    return `An agent did not run: ${this.reason}`
  }
}

const AgentRow = Schema.Struct({ ownerId: UserId, status: AgentStatus })
const statusQuery = `select owner_id as "ownerId", status from agents where owner_id = any($1::text[])`

/**
 * Times at which each owner's agent was first running, in nanoseconds of the clock. Polls the database instead of the API,
 * to leave the API idle.
 */
const runningAt = (database: Database, owners: ReadonlyArray<Owner>) =>
  Effect.gen(function* () {
    const ids = owners.map(({ userId }) => userId)
    const seen = new Map<UserId, bigint>()
    while (seen.size < ids.length) {
      const rows = yield* database.select(AgentRow, statusQuery, [ids])
      const now = yield* Clock.currentTimeNanos
      for (const { ownerId, status } of rows) {
        if (status === "error") return yield* new AgentNotRunning({ reason: `the agent of ${ownerId} is in error` })
        if (status !== "provisioning" && !seen.has(ownerId)) seen.set(ownerId, now)
      }
      yield* Effect.sleep("10 millis")
    }
    return seen
  }).pipe(
    Effect.timeoutFail({
      duration: "2 minutes",
      onTimeout: () => new AgentNotRunning({ reason: "it took longer than two minutes" })
    })
  )

const millisBetween = (from: bigint, to: bigint) => Number(to - from) / 1e6

/** Provisions for all owners at once; returns each owner's milliseconds to the response and to the running agent. */
const provision = ({ database }: HostedBerth, clients: ReadonlyArray<readonly [Owner, Client]>) =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeNanos
    const requests = Effect.forEach(
      clients,
      ([owner, client]) => requestOnce(client, ownerPost(owner, "/api/agents/provision", { name: "First mate" }, 201)),
      { concurrency: "unbounded" }
    )
    const waiting = runningAt(
      database,
      clients.map(([owner]) => owner)
    )
    const [answers, seen] = yield* Effect.all([requests, waiting], { concurrency: "unbounded" })
    return {
      accepted: answers.map(({ took }) => took),
      running: [...seen.values()].map((at) => millisBetween(began, at))
    }
  })

/** Opens the connections before the measurement and stops the instances after it. */
const provisionFor = (hosted: HostedBerth, owners: ReadonlyArray<Owner>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const clients = yield* Effect.forEach(
        owners,
        (owner) =>
          Effect.gen(function* () {
            const client = yield* openConnection(hosted.berth.webUrl)
            yield* requestOnce(client, { method: "GET", path: "/health/live", headers: {}, expected: 200 })
            return [owner, client] as const
          }),
        { concurrency: "unbounded" }
      )
      const times = yield* provision(hosted, clients)
      yield* Effect.forEach(
        clients,
        ([owner, client]) => requestOnce(client, ownerPost(owner, `/api/instance/${owner.userId}/stop`, {})),
        { concurrency: 4 }
      )
      return times
    })
  )

const row = (name: string, times: Latencies, aim: string) => [
  name,
  ...[times.p50, times.p95, times.p99, times.max].map(formatFigure),
  aim
]

/** Provisioning by new owners with a subscription: in sequence, then concurrently. */
export const provisioning: Scenario = ({ owners, ownersAtOnce, timesAtOnce, warmUpOwners }) =>
  Effect.gen(function* () {
    const hosted = yield* hostBerth()
    const inLine = yield* createOwners(hosted, warmUpOwners + owners)
    const all = yield* Effect.forEach(inLine, (owner) => provisionFor(hosted, [owner]))
    const counted = all.slice(warmUpOwners)
    const accepted = summarizeLatencies(counted.flatMap((times) => times.accepted))
    const running = summarizeLatencies(counted.flatMap((times) => times.running))

    const crowds = yield* Effect.replicateEffect(
      Effect.flatMap(createOwners(hosted, ownersAtOnce), (crowd) => provisionFor(hosted, crowd)),
      timesAtOnce
    )
    const crowdAccepted = summarizeLatencies(crowds.flatMap((times) => times.accepted))
    const crowdRunning = summarizeLatencies(crowds.flatMap((times) => times.running))
    const allRunning = median(crowds.map((times) => Math.max(...times.running)))

    return {
      figures: {
        unit: "ms",
        oneByOne: {
          owners,
          accepted: { ...accepted, aim: acceptedAim },
          running: { ...running, aim: runningAim },
          raw: counted
        },
        atOnce: { owners: ownersAtOnce, accepted: crowdAccepted, running: crowdRunning, allRunning, raw: crowds }
      },
      tables: [
        {
          title: "Provisioning (ms)",
          columns: ["from POST /api/agents/provision to", "p50", "p95", "p99", "max", "aim of p50"],
          rows: [
            row("the answer", accepted, formatFigure(acceptedAim)),
            row("status running", running, formatFigure(runningAim)),
            row(`the answer, ${ownersAtOnce} at once`, crowdAccepted, ""),
            row(`status running, ${ownersAtOnce} at once`, crowdRunning, "")
          ],
          note: `${owners} owners in sequence. ${ownersAtOnce} concurrently, ${timesAtOnce} times: all agents run after ${formatFigure(allRunning)} ms (median).`
        }
      ],
      panels: [
        {
          title: "POST /api/agents/provision to the response",
          unit: "ms",
          bars: [
            { label: "p50", value: accepted.p50, aim: acceptedAim },
            { label: "p95", value: accepted.p95 }
          ]
        },
        {
          title: "POST /api/agents/provision to status running",
          unit: "ms",
          bars: [
            { label: "p50", value: running.p50, aim: runningAim },
            { label: "p95", value: running.p95 },
            { label: `all of ${ownersAtOnce} at once`, value: allRunning }
          ]
        }
      ]
    }
  })
