import type { UserId } from "@berth/domain/accounts/User"
import type { AgentId } from "@berth/domain/agents/Agent"
import { AgentRuntime, RuntimeIsUnreachable, type TurnEvent } from "@berth/domain/instances/AgentRuntime"
import {
  type Cell,
  CellDidNotStart,
  type CellExit,
  type CellSpec,
  InstanceDriver
} from "@berth/domain/instances/InstanceDriver"
import { DateTime, Effect, Option, PubSub, Stream } from "effect"

/** A cell that is only written down. */
interface ScriptedCell {
  readonly cell: Cell
  readonly version: string
  /** What it was told its agents are; null while it has heard of none. */
  readonly agents: ReadonlyArray<AgentId> | null
}

/** What happens at a step of a host; most often nothing. */
export type Step = (name: string) => Effect.Effect<void>

/**
 * The cells of a host in memory. Several drivers, one a backend, may keep them one after the other, as backends that die and
 * come back do.
 */
export class ScriptedCells {
  readonly cells = new Map<UserId, ScriptedCell>()
  readonly kept = new Map<UserId, string>()
  newest = "1"
  /** Why a version does not come up, or does not take its agents; it does when there is no reason. */
  startsNot: (owner: UserId, version: string) => string | undefined = () => undefined
  takesNot: (owner: UserId, version: string) => string | undefined = () => undefined
  private started = 0
  private readonly exits = Effect.runSync(PubSub.unbounded<CellExit>())

  /** Those whose cell died a moment ago: its driver has not noticed yet, and takes it for alive. */
  readonly dying = new Set<UserId>()
  /** The messages that cells got, in order. */
  readonly heard: Array<{ readonly owner: UserId; readonly startedAt: number; readonly message: string }> = []
  /** Whether a connection to a cell breaks once a turn was sent over it. */
  breaks = false

  /** A cell that dies by itself. */
  dies(owner: UserId, reason = "killed") {
    return Effect.suspend(() => {
      this.cells.delete(owner)
      return PubSub.publish(this.exits, { owner, reason })
    })
  }

  private raise(owner: UserId, version: string) {
    return Effect.gen(this, function* () {
      const reason = this.startsNot(owner, version)
      if (reason !== undefined) return yield* new CellDidNotStart({ owner, reason })
      this.started += 1
      const startedAt = DateTime.unsafeMake(this.started)
      const cell: Cell = { owner, endpoint: `cell:${owner}`, startedAt, runtimeVersion: version }
      this.cells.set(owner, { cell, version, agents: null })
      return cell
    })
  }

  driver(step: Step) {
    const end = (owner: UserId) => Effect.sync(() => this.cells.delete(owner))
    return InstanceDriver.of({
      start: ({ owner }: CellSpec) =>
        Effect.gen(this, function* () {
          yield* step("a cell is to be started")
          const there = this.cells.get(owner)
          if (there !== undefined && !this.dying.delete(owner)) return there.cell
          const version = this.kept.get(owner) ?? this.newest
          const cell = yield* this.raise(owner, version)
          yield* step("a cell was started")
          this.kept.set(owner, version)
          return cell
        }),
      update: ({ owner }, _options, accept) =>
        Effect.gen(this, function* () {
          yield* step("a cell is to be replaced")
          yield* end(owner)
          yield* step("a cell was ended to be replaced")
          const cell = yield* this.raise(owner, this.newest)
          yield* step("a cell of the new version was started")
          yield* Effect.onError(accept(cell), () => end(owner))
          yield* step("a cell of the new version was accepted")
          this.kept.set(owner, this.newest)
          return cell
        }),
      stop: (owner) =>
        Effect.zipRight(step("a cell is to be ended"), end(owner)).pipe(Effect.zipRight(step("a cell was ended"))),
      remove: (owner) =>
        step("a cell is to be removed").pipe(
          Effect.zipRight(end(owner)),
          Effect.zipRight(step("a cell was ended to be removed")),
          Effect.zipRight(Effect.sync(() => this.kept.delete(owner))),
          Effect.zipRight(step("a cell was removed"))
        ),
      owners: Effect.sync(() => [...new Set([...this.cells.keys(), ...this.kept.keys()])]),
      inspect: (owner) => Effect.sync(() => Option.map(Option.fromNullable(this.cells.get(owner)), ({ cell }) => cell)),
      logs: () => Effect.succeed({ entries: [], total: 0 }),
      stats: () => Effect.succeedNone,
      exits: Stream.fromPubSub(this.exits)
    })
  }

  runtime(step: Step) {
    return AgentRuntime.of({
      configure: ({ cell: { owner } }, agents) =>
        Effect.gen(this, function* () {
          yield* step("a cell is to be told of its agents")
          const there = this.cells.get(owner)
          if (there === undefined) return yield* new RuntimeIsUnreachable({ reason: "there is no cell" })
          const reason = this.takesNot(owner, there.version)
          if (reason !== undefined) return yield* new RuntimeIsUnreachable({ reason })
          this.cells.set(owner, { ...there, agents: agents.map(({ id }) => id) })
          yield* step("a cell was told of its agents")
        }),
      chat: ({ cell: { owner, startedAt } }, { message }) =>
        Stream.suspend(() => {
          if (this.dying.has(owner)) return Stream.fail(new RuntimeIsUnreachable({ reason: "refused", unsent: true }))
          this.heard.push({ owner, startedAt: startedAt.epochMillis, message })
          return this.breaks
            ? Stream.fail(new RuntimeIsUnreachable({ reason: "it broke off" }))
            : Stream.make<[TurnEvent]>({ type: "done", reply: `You said: ${message}`, model: "m" })
        })
    })
  }
}
