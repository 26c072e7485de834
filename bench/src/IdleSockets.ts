import { defaultAgentConfig } from "@berth/domain/agents/Agent"
import { Array, Effect } from "effect"
import { WebSocket } from "undici"
import { hostBerth } from "./berth/HostedBerth.ts"
import { createOwners } from "./berth/Owners.ts"
import { readCpuSeconds, readResidentMemory } from "./berth/Processes.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"

const openSocket = (url: string, cookie: string) =>
  Effect.acquireRelease(
    Effect.async<WebSocket, Error>((resume) => {
      const socket = new WebSocket(url, { headers: { cookie } })
      // The first frame, the status: the server serves the socket.
      socket.addEventListener("message", () => resume(Effect.succeed(socket)), { once: true })
      socket.addEventListener("error", () => resume(Effect.fail(new Error(`${url} refused a socket`))))
    }),
    (socket) => Effect.sync(() => socket.close())
  )

/** Memory and processor time of the server for WebSockets without messages. */
export const idleSockets: Scenario = ({ settleSeconds, socketOwners, socketsEach }) =>
  Effect.gen(function* () {
    const hosted = yield* hostBerth()
    const owners = yield* createOwners(hosted, socketOwners)
    // Stopped, so that no instance shares the machine.
    yield* hosted.database.execute(
      `insert into agents (id, owner_id, name, model, custom_model, status, config, created_at, updated_at)
       select 'agt_' || id, id, 'Idle', 'gpt-4', null, 'stopped', $2::jsonb, now(), now() from unnest($1::text[]) as id`,
      [owners.map(({ userId }) => userId), JSON.stringify(defaultAgentConfig)]
    )
    const { server } = yield* hosted.berth.pids
    const settle = Effect.sleep(`${settleSeconds} seconds`)
    const origin = hosted.berth.webUrl.replace(/^http/, "ws")
    const open = (count: number) =>
      Effect.forEach(
        Array.flatMap(owners, (owner) => Array.makeBy(count, () => owner)),
        ({ cookie, userId }) => openSocket(`${origin}/agents/agt_${userId}/ws`, cookie),
        { concurrency: 16, discard: true }
      )
    const read = Effect.map(readResidentMemory([server]), ({ rss }) => rss)

    // The first sockets load code and grow the heap, which later ones share.
    yield* Effect.scoped(open(Math.ceil(socketsEach / 4)))
    yield* settle
    const [before, cpuBefore] = [yield* read, yield* readCpuSeconds(server)]
    yield* settle
    const cpuIdle = yield* readCpuSeconds(server)
    yield* open(socketsEach)
    yield* settle
    const [after, cpuOpen] = [yield* read, yield* readCpuSeconds(server)]
    yield* settle
    const cpuAfter = yield* readCpuSeconds(server)

    const count = owners.length * socketsEach
    const kibibytesEach = ((after - before) * 1024) / count
    const cpu = { without: (cpuIdle - cpuBefore) / settleSeconds, with: (cpuAfter - cpuOpen) / settleSeconds }
    return {
      figures: { sockets: count, mebibytes: { before, after }, kibibytesEach, cpu },
      tables: [
        {
          title: "Idle WebSockets",
          columns: ["sockets", "rss before (MiB)", "with sockets", "KiB each", "cpu before (%)", "with sockets"],
          rows: [
            [
              String(count),
              formatFigure(before),
              formatFigure(after),
              formatFigure(kibibytesEach),
              formatFigure(cpu.without * 100),
              formatFigure(cpu.with * 100)
            ]
          ],
          note: "Resident memory and processor time of the server, which shares a process with the backend."
        }
      ],
      panels: [
        { title: "Resident memory per idle WebSocket", unit: "KiB", bars: [{ label: "server", value: kibibytesEach }] }
      ]
    }
  })
