import { Effect, Option } from "effect"
import { type HostedBerth, hostBerth } from "./berth/HostedBerth.ts"
import { ownerGet } from "./berth/Owners.ts"
import { listChildren, type ResidentMemory, readResidentMemory } from "./berth/Processes.ts"
import { makeChatLoad, upstreamEnvironment, openConversations, restoreUnits } from "./Chats.ts"
import * as Load from "./measure/Load.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { startServer } from "./servers/ServerProcess.ts"

const runtimeMemoryAim = 80
const connections = 10

const parts = ["launcher", "supervisor", "server", "worker", "PostgreSQL", "instance"] as const
type Part = (typeof parts)[number]
type Reading = Readonly<Record<Part, ResidentMemory>>

/** Process ids of each part. An external database has none. */
const pidsOf = ({ berth }: HostedBerth) =>
  Effect.gen(function* () {
    const { postgres, server, supervisor, worker } = yield* berth.pids
    const database = Option.toArray(postgres)
    const instances = yield* listChildren(server)
    return {
      launcher: [berth.pid],
      supervisor: [supervisor],
      server: [server],
      worker: [worker],
      PostgreSQL: [...database, ...(yield* Effect.forEach(database, listChildren)).flat()],
      instance: instances.slice(0, 1)
    } satisfies Record<Part, ReadonlyArray<number>>
  })

const read = (hosted: HostedBerth): Effect.Effect<Reading> =>
  Effect.flatMap(pidsOf(hosted), (pids) =>
    Effect.all({
      launcher: readResidentMemory(pids.launcher),
      supervisor: readResidentMemory(pids.supervisor),
      server: readResidentMemory(pids.server),
      worker: readResidentMemory(pids.worker),
      PostgreSQL: readResidentMemory(pids.PostgreSQL),
      instance: readResidentMemory(pids.instance)
    })
  )

/** Memory of the processes with one owner and one instance: idle, right after load, and settled. */
export const memory: Scenario = ({ roundRequests, roundSeconds, rounds, settleSeconds }) =>
  Effect.gen(function* () {
    const upstream = yield* startServer("Upstream")
    const hosted = yield* hostBerth(upstreamEnvironment(upstream.origin))
    const conversations = yield* openConversations(hosted, 1, connections)
    const settle = Effect.sleep(`${settleSeconds} seconds`)
    const settings = ownerGet(conversations[0].owner, "/api/settings")
    const bounds = { seconds: roundSeconds * rounds, requests: roundRequests }

    yield* settle
    const idle = yield* read(hosted)
    yield* Load.runLoad({ origin: hosted.berth.webUrl, connections, callOf: () => settings }, bounds)
    yield* restoreUnits(hosted)
    yield* Load.runLoad(makeChatLoad(hosted, conversations, connections), { ...bounds, requests: 5000 })
    const afterLoad = yield* read(hosted)
    yield* settle
    const settled = yield* read(hosted)

    const measured = parts.filter((part) => idle[part].rss > 0)
    const columnsOf = (part: Part) =>
      [idle, afterLoad, settled].flatMap((reading) => [
        formatFigure(reading[part].rss),
        formatFigure(reading[part].pss)
      ])
    const sum = (reading: Reading) => parts.reduce((total, part) => total + reading[part].pss, 0)
    return {
      figures: { unit: "MiB", instanceAim: runtimeMemoryAim, idle, afterLoad, settled },
      tables: [
        {
          title: "Memory (MiB)",
          columns: ["process", "idle rss", "pss", "after load rss", "pss", `${settleSeconds} s later rss`, "pss"],
          rows: [
            ...measured.map((part) => [part, ...columnsOf(part)]),
            ["all", ...[idle, afterLoad, settled].flatMap((reading) => ["", formatFigure(sum(reading))])]
          ],
          note: `One owner with one instance (aim: under ${runtimeMemoryAim}). pss counts shared pages once.`
        }
      ],
      panels: [
        {
          title: "Resident after load (rss; PostgreSQL pss)",
          unit: "MiB",
          bars: measured.map((part) => ({
            label: part,
            value: part === "PostgreSQL" ? afterLoad[part].pss : afterLoad[part].rss,
            ...(part === "instance" ? { aim: runtimeMemoryAim } : {})
          }))
        }
      ]
    }
  })
