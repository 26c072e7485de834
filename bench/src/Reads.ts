import { Array, Effect, Redacted } from "effect"
import { hostBerth } from "./berth/HostedBerth.ts"
import { ownerGet, createOwners } from "./berth/Owners.ts"
import type { Load } from "./measure/Load.ts"
import { measureInTurns } from "./measure/Rounds.ts"
import * as Comparison from "./report/Comparison.ts"
import type { Scenario } from "./Scenario.ts"
import { startServer } from "./servers/ServerProcess.ts"

const paths = ["/api/settings", "/api/agents"] as const

/** Signed-in reads, compared with a bare server that runs the same statements on the same database. */
export const reads: Scenario = (amounts) =>
  Effect.gen(function* () {
    const hosted = yield* hostBerth()
    const bare = yield* startServer("BareServer", { DATABASE_URL: Redacted.value(hosted.database.url) })
    const { server } = yield* hosted.berth.pids
    const owners = yield* createOwners(hosted, Math.min(10, Math.max(...amounts.connections)))
    const loadOn = (origin: string, path: string, connections: number): Load => {
      const calls = Array.map(owners, (owner) => ownerGet(owner, path))
      return { origin, connections, callOf: (connection) => calls[connection % calls.length] ?? calls[0] }
    }
    const pairs = yield* Effect.forEach(amounts.connections, (connections) =>
      Effect.map(
        measureInTurns(
          paths.flatMap((path) => [
            { name: `GET ${path}`, pid: server, load: loadOn(hosted.berth.webUrl, path, connections) },
            { name: `bare GET ${path}`, pid: bare.pid, load: loadOn(bare.origin, path, connections) }
          ]),
          amounts
        ),
        Comparison.pairResults
      )
    )
    const all = pairs.flat()
    return {
      figures: { unit: "ms", pairs: all },
      tables: [Comparison.comparisonTable("Signed-in reads", all)],
      panels: Comparison.comparisonPanels("Signed-in reads", all)
    }
  })
