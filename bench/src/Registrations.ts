import { Effect } from "effect"
import { hostBerth } from "./berth/HostedBerth.ts"
import { ownerGet, createOwners } from "./berth/Owners.ts"
import type { HttpRequest } from "./measure/TimedRequest.ts"
import { median } from "./measure/Latencies.ts"
import * as Load from "./measure/Load.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"

/** Concurrent registrations. */
const storm = 10
/** Upper bound for the slowdown of a read during registrations. */
const aim = 3
const readers = [1, 10] as const

const registration = (connection: number, sequence: number, round: string): HttpRequest => ({
  method: "POST",
  path: "/api/register",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    email: `storm-${round}-${connection}-${sequence}@example.com`,
    password: "correct horse battery"
  }),
  expected: 200
})

/** Latency of a signed-in read with and without concurrent registrations. */
export const registrations: Scenario = (amounts) =>
  Effect.gen(function* () {
    const hosted = yield* hostBerth()
    const origin = hosted.berth.webUrl
    const [owner] = yield* createOwners(hosted, 1)
    const call = ownerGet(owner, "/api/settings")
    const bounds = { seconds: amounts.roundSeconds, requests: amounts.roundRequests }
    const read = (connections: number) => Load.runLoad({ origin, connections, callOf: () => call }, bounds)
    const register = (round: string) =>
      Load.runLoad(
        { origin, connections: storm, callOf: (connection, sequence) => registration(connection, sequence, round) },
        bounds
      )

    yield* Effect.forEach(readers, (connections) =>
      Load.runLoad({ origin, connections, callOf: () => call }, { ...bounds, seconds: amounts.warmUpSeconds })
    )
    yield* register("warm-up")
    const levels = yield* Effect.forEach(readers, (connections) =>
      Effect.map(
        Effect.forEach(
          Array.from({ length: amounts.rounds }, (_, index) => `${connections}-${index}`),
          (round) =>
            Effect.gen(function* () {
              const idle = yield* read(connections)
              const [busy, registered] = yield* Effect.all([read(connections), register(round)], {
                concurrency: "unbounded"
              })
              return { idle, busy, registered, p50: busy.p50 / idle.p50, p99: busy.p99 / idle.p99 }
            })
        ),
        (rounds) => {
          const of = (pick: (round: (typeof rounds)[number]) => number) => median(rounds.map(pick))
          return {
            connections,
            idle: {
              rate: of(({ idle }) => idle.rate),
              p50: of(({ idle }) => idle.p50),
              p99: of(({ idle }) => idle.p99)
            },
            busy: {
              rate: of(({ busy }) => busy.rate),
              p50: of(({ busy }) => busy.p50),
              p99: of(({ busy }) => busy.p99)
            },
            registered: of(({ registered }) => registered.rate),
            ratio: { p50: of(({ p50 }) => p50), p99: of(({ p99 }) => p99) },
            rounds
          }
        }
      )
    )
    return {
      figures: { unit: "ms", aim: { ratio: aim }, storm, levels },
      tables: [
        {
          title: `GET /api/settings while ${storm} registrations are in flight`,
          columns: ["reads", "connections", "per second", "p50 ms", "p99 ms", "p50 to idle", "p99 to idle", "aim"],
          rows: levels.flatMap(({ busy, connections, idle, ratio }) => [
            [
              "while others register",
              String(connections),
              ...[busy.rate, busy.p50, busy.p99, ratio.p50, ratio.p99, aim].map(formatFigure)
            ],
            ["while nobody does", String(connections), ...[idle.rate, idle.p50, idle.p99].map(formatFigure), "", "", ""]
          ]),
          note: `Registrations per second during the reads: ${levels.map(({ connections, registered }) => `${formatFigure(registered)} with ${connections} readers`).join(", ")}.`
        }
      ],
      panels: [
        {
          title: `GET /api/settings while ${storm} registrations are in flight: times longer than idle`,
          unit: "×",
          bars: levels.flatMap(({ connections, ratio }) => [
            { label: `p50, ${connections} conn.`, value: ratio.p50, aim },
            { label: `p99, ${connections} conn.`, value: ratio.p99, aim }
          ])
        }
      ]
    }
  })
