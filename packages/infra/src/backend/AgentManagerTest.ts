import { makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { AgentManager, type ManagedTurnFailure } from "@berth/domain/instances/AgentManager"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import type { RuntimeLogEntry } from "@berth/domain/instances/RuntimeLog"
import type { InstanceStats } from "@berth/domain/instances/InstanceStats"
import type { UserId } from "@berth/domain/shared/UserId"
import { Context, DateTime, Effect, Layer, Option, Stream } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

type Manager = Context.Tag.Service<AgentManager>

/** A turn is a stream for simpler tests, unless `openChat` replaces it. */
interface Behavior extends Omit<Manager, "chat"> {
  readonly chat: (userId: UserId, turn: Turn) => Stream.Stream<TurnEvent, ManagedTurnFailure>
  readonly openChat?: Manager["chat"]
}

interface AgentManagerCall {
  readonly method: keyof Manager
  /** Agent id for `deploy`, `activate` and `failDeployment`, else the owner's id. */
  readonly target: string
  readonly turn?: Turn
}

export class AgentManagerTest extends Context.Tag("@berth/test/AgentManagerTest")<
  AgentManagerTest,
  TestPortHandle<AgentManagerCall, Behavior>
>() {}

export const fakeRuntimeVersion = "9.9.9-test"

export const fakeLogEntry: RuntimeLogEntry = {
  id: "log_test",
  timestamp: DateTime.unsafeNow(),
  level: "info",
  message: "A turn was answered",
  source: "instance",
  agentId: null
}
const mib = 1024 * 1024
const makeInstanceStats = (startedAt: DateTime.Utc): InstanceStats => ({
  cpuPercent: 1.234,
  memoryBytes: 64 * mib,
  memoryLimitBytes: 256 * mib,
  networkReceivedBytes: null,
  networkSentBytes: null,
  pids: 11,
  startedAt
})

const defaultBehavior: Behavior = {
  deploy: () => Effect.void,
  activate: () => Effect.succeed(true),
  failDeployment: () => Effect.void,
  start: () => Effect.void,
  stop: () => Effect.void,
  restart: () => Effect.succeed({ runtimeVersion: fakeRuntimeVersion, healings: [] }),
  update: () => Effect.void,
  repair: () => Effect.void,
  reconfigure: () => Effect.void,
  remove: () => Effect.void,
  logs: () => Effect.succeed({ entries: [fakeLogEntry], total: 1 }),
  stats: () => Effect.map(DateTime.now, (now) => Option.some(makeInstanceStats(now))),
  measureStorage: () => Effect.succeedSome(3 * mib),
  chat: (_userId, turn) =>
    Stream.make<[TurnEvent, TurnEvent, TurnEvent]>(
      { type: "delta", text: "Echo: " },
      { type: "delta", text: turn.message },
      { type: "done", reply: `Echo: ${turn.message}`, model: "sandbox/echo", provider: "sandbox" }
    )
}

export const layerWithBehavior = (behavior: Partial<Behavior>): Layer.Layer<AgentManager | AgentManagerTest> =>
  Layer.effectContext(
    Effect.map(makeTestPort<AgentManagerCall, Behavior>({ ...defaultBehavior, ...behavior }), ({ handle, run }) => {
      const manager = AgentManager.of({
        deploy: (id) => run({ method: "deploy", target: id }, ({ deploy }) => deploy(id)),
        activate: (id) => run({ method: "activate", target: id }, ({ activate }) => activate(id)),
        failDeployment: (id, reason) =>
          run({ method: "failDeployment", target: id }, ({ failDeployment }) => failDeployment(id, reason)),
        start: (id) => run({ method: "start", target: id }, ({ start }) => start(id)),
        stop: (id) => run({ method: "stop", target: id }, ({ stop }) => stop(id)),
        restart: (id) => run({ method: "restart", target: id }, ({ restart }) => restart(id)),
        update: (id) => run({ method: "update", target: id }, ({ update }) => update(id)),
        repair: (id) => run({ method: "repair", target: id }, ({ repair }) => repair(id)),
        reconfigure: (id) => run({ method: "reconfigure", target: id }, ({ reconfigure }) => reconfigure(id)),
        remove: (id) => run({ method: "remove", target: id }, ({ remove }) => remove(id)),
        logs: (id, query) => run({ method: "logs", target: id }, ({ logs }) => logs(id, query)),
        stats: (id) => run({ method: "stats", target: id }, ({ stats }) => stats(id)),
        measureStorage: (id) =>
          run({ method: "measureStorage", target: id }, ({ measureStorage }) => measureStorage(id)),
        chat: (id, turn) =>
          run(
            { method: "chat", target: id, turn },
            ({ chat, openChat }) => openChat?.(id, turn) ?? makeChunkSource(chat(id, turn))
          )
      })
      return Context.make(AgentManager, manager).pipe(Context.add(AgentManagerTest, handle))
    })
  )

/** An agent manager without instances: operations succeed and agents echo, unless the behavior is replaced. */
export const layer = layerWithBehavior({})
