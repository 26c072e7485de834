import { AgentManager } from "@berth/domain/instances/AgentManager"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import type { RuntimeLogEntry } from "@berth/domain/instances/RuntimeLog"
import type { InstanceStats } from "@berth/domain/instances/InstanceStats"
import { Context, DateTime, Effect, Layer, Option, Ref, Stream } from "effect"

type Manager = Context.Tag.Service<AgentManager>

export interface AgentManagerCall {
  readonly method: keyof Manager
  /** The agent's id for deploy and giveUp, the owner's for the rest. */
  readonly target: string
  readonly turn?: Turn
}

/** An agent manager with behavior set by tests, and its calls. */
export class FakeAgentManager extends Context.Tag("@berth/test/FakeAgentManager")<
  FakeAgentManager,
  {
    /** Everything that was asked so far, in order. */
    readonly calls: Effect.Effect<ReadonlyArray<AgentManagerCall>>
    /** Runs an effect while these methods do what is given; without a script all goes well, and an agent echoes. */
    readonly withBehavior: (
      script: Partial<Manager>
    ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}

export const fakeRuntimeVersion = "9.9.9-test"

/** The log entry of every instance. */
export const fakeLogEntry: RuntimeLogEntry = {
  id: "log_test",
  timestamp: DateTime.unsafeNow(),
  level: "info",
  message: "A turn was answered",
  source: "instance",
  agentId: null
}
const mib = 1024 * 1024
export const makeInstanceStats = (startedAt: DateTime.Utc): InstanceStats => ({
  cpuPercent: 1.234,
  memoryBytes: 64 * mib,
  memoryLimitBytes: 256 * mib,
  networkReceivedBytes: null,
  networkSentBytes: null,
  pids: 11,
  startedAt
})

const defaultBehavior: Manager = {
  deploy: () => Effect.void,
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
  chat: (_userId, turn) =>
    Stream.make<[TurnEvent, TurnEvent, TurnEvent]>(
      { type: "delta", text: "Echo: " },
      { type: "delta", text: turn.message },
      { type: "done", reply: `Echo: ${turn.message}`, model: turn.agentId }
    )
}

/** An agent manager without instances. */
export const layer: Layer.Layer<AgentManager | FakeAgentManager> = Layer.effectContext(
  Effect.gen(function* () {
    const calls = yield* Ref.make<ReadonlyArray<AgentManagerCall>>([])
    const script = yield* Ref.make<Partial<Manager>>({})
    const asked = (call: AgentManagerCall) =>
      Effect.zipRight(
        Ref.update(calls, (before) => [...before, call]),
        Effect.map(script, (given): Manager => ({ ...defaultBehavior, ...given }))
      )

    const manager = AgentManager.of({
      deploy: (id) => Effect.flatMap(asked({ method: "deploy", target: id }), ({ deploy }) => deploy(id)),
      failDeployment: (id, reason) =>
        Effect.flatMap(asked({ method: "failDeployment", target: id }), ({ failDeployment }) =>
          failDeployment(id, reason)
        ),
      start: (id) => Effect.flatMap(asked({ method: "start", target: id }), ({ start }) => start(id)),
      stop: (id) => Effect.flatMap(asked({ method: "stop", target: id }), ({ stop }) => stop(id)),
      restart: (id) => Effect.flatMap(asked({ method: "restart", target: id }), ({ restart }) => restart(id)),
      update: (id) => Effect.flatMap(asked({ method: "update", target: id }), ({ update }) => update(id)),
      repair: (id) => Effect.flatMap(asked({ method: "repair", target: id }), ({ repair }) => repair(id)),
      reconfigure: (id) =>
        Effect.flatMap(asked({ method: "reconfigure", target: id }), ({ reconfigure }) => reconfigure(id)),
      remove: (id) => Effect.flatMap(asked({ method: "remove", target: id }), ({ remove }) => remove(id)),
      logs: (id, query) => Effect.flatMap(asked({ method: "logs", target: id }), ({ logs }) => logs(id, query)),
      stats: (id) => Effect.flatMap(asked({ method: "stats", target: id }), ({ stats }) => stats(id)),
      chat: (id, turn) =>
        Stream.unwrap(Effect.map(asked({ method: "chat", target: id, turn }), ({ chat }) => chat(id, turn)))
    })
    const fake = FakeAgentManager.of({
      calls,
      withBehavior: (given) => (effect) =>
        Effect.acquireUseRelease(
          Ref.getAndSet(script, given),
          () => effect,
          (before) => Ref.set(script, before)
        )
    })
    return Context.make(AgentManager, manager).pipe(Context.add(FakeAgentManager, fake))
  })
)
