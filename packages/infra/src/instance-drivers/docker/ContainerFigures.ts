import { Effect, Option } from "effect"
import type { DockerEngine } from "./DockerEngine.ts"
import type { EngineError } from "./EngineErrors.ts"
import type { ContainerStats } from "./EngineModels.ts"

interface ContainerFigures {
  /** Processor time since the start, in milliseconds. */
  readonly cpuMs: number
  /** Excludes the file cache, which the kernel releases under pressure. */
  readonly memoryBytes: number | null
  readonly networkReceivedBytes: number | null
  readonly networkSentBytes: number | null
  readonly pids: number | null
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

/** Computes figures of a sample like `docker stats`; none for a container that is not running. */
export const toContainerFigures = (sample: ContainerStats): Option.Option<ContainerFigures> => {
  const { cpu_stats, memory_stats, networks, pids_stats } = sample
  if (pids_stats.current === undefined) return Option.none()
  // Names in cgroup v1 and v2.
  const cache = memory_stats.stats?.["total_inactive_file"] ?? memory_stats.stats?.["inactive_file"] ?? 0
  const interfaces = networks === undefined ? null : Object.values(networks)
  return Option.some({
    cpuMs: cpu_stats.cpu_usage.total_usage / 1_000_000,
    memoryBytes: memory_stats.usage === undefined ? null : Math.max(0, memory_stats.usage - cache),
    networkReceivedBytes: interfaces === null ? null : sum(interfaces.map(({ rx_bytes }) => rx_bytes)),
    networkSentBytes: interfaces === null ? null : sum(interfaces.map(({ tx_bytes }) => tx_bytes)),
    pids: pids_stats.current
  })
}

export const readFigures = (
  engine: DockerEngine,
  id: string
): Effect.Effect<Option.Option<ContainerFigures>, EngineError> =>
  Effect.map(engine.readStats(id), Option.flatMap(toContainerFigures))
