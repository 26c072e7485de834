import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { Clock, type Duration, Effect, Metric, Redacted, Schedule } from "effect"
import { addSampler } from "../telemetry/ProcessMetrics.ts"
import type { RuntimeClient } from "../runtime/RuntimeClient.ts"
import { type DiskCount, maximumEntries } from "./DiskUsage.ts"
import { maximumMissedHealthChecks, probeHealth } from "./HealthProbe.ts"
import * as InstanceLogFile from "./InstanceLogFile.ts"
import { addInstances } from "./InstanceMetrics.ts"
import { decideMemoryAlert, describeMemoryAlert } from "./MemoryAlert.ts"
import { type CpuSample, computeCpuPercent } from "./CpuPercent.ts"

// Sum over all instances, since a label per instance would be unbounded.
const runningInstances = Metric.gauge("berth_instances_running", { description: "Instances that this backend runs" })
const memory = Metric.gauge("berth_instances_memory_bytes", { description: "Memory of these instances together" })
const cpuSeconds = Metric.counter("berth_instances_cpu_seconds_total", {
  description: "CPU time of these instances together, while they were observed",
  incremental: true
})

/** State between two checks of an instance; not required by a later backend. */
interface Observations {
  missedHealthChecks: number
  memoryAlert: number
  memoryBytes: number
  /** The last two samples, the newest first. */
  cpu: ReadonlyArray<CpuSample>
  isEnding: boolean
}

interface InstanceChecksOptions<Running> {
  readonly list: () => ReadonlyArray<Running>
  readonly logOf: (running: Running) => InstanceLogFile.InstanceLogFiles
  /** Ends an instance that must not continue. */
  readonly endWithReason: (running: Running, reason: string) => Effect.Effect<void>
  readonly client: RuntimeClient
}

/** Checks of running instances shared by all drivers; they run until the scope closes. */
export const make = <Running extends { readonly instance: RunningInstance }>({
  client,
  endWithReason,
  list,
  logOf
}: InstanceChecksOptions<Running>) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const observations = new WeakMap<Running, Observations>()

    const observationsOf = (running: Running): Observations => {
      const observation = observations.get(running)
      if (observation !== undefined) return observation
      const fresh: Observations = { missedHealthChecks: 0, memoryAlert: 0, memoryBytes: 0, cpu: [], isEnding: false }
      observations.set(running, fresh)
      return fresh
    }

    yield* Effect.acquireRelease(
      Effect.sync(() =>
        addSampler(() => {
          const running = list()
          runningInstances.unsafeUpdate(running.length, [])
          memory.unsafeUpdate(
            running.reduce((sum, instance) => sum + observationsOf(instance).memoryBytes, 0),
            []
          )
        })
      ),
      (removeSampler) => Effect.sync(removeSampler)
    )
    yield* Effect.acquireRelease(
      Effect.sync(() => addInstances(() => list().map(({ instance }) => instance))),
      (removeInstances) => Effect.sync(removeInstances)
    )

    /** In the background, since an instance that ignores SIGTERM must not delay the checks of others. */
    const end = (running: Running, reason: string) =>
      Effect.suspend(() => {
        const observed = observationsOf(running)
        if (observed.isEnding) return Effect.void
        observed.isEnding = true
        // If the host was unavailable, a later check retries.
        const ended = Effect.ensuring(
          endWithReason(running, reason),
          Effect.sync(() => {
            observed.isEnding = false
          })
        )
        return Effect.asVoid(Effect.forkIn(ended, scope))
      })

    return {
      end,
      endOverDisk: (running: Running, { bytes, entries }: Pick<DiskCount, "bytes" | "entries">, diskMb: number) => {
        const usage =
          entries > maximumEntries ? `more than ${maximumEntries} files` : `${Math.round(bytes / 1024 / 1024)} MB`
        return end(running, `it holds ${usage} on the disk, more than the ${diskMb} MB it may`)
      },

      checkMemory: (running: Running, usedBytes: number, limitMb: number) =>
        Effect.suspend(() => {
          const observed = observationsOf(running)
          observed.memoryBytes = usedBytes
          const alert = decideMemoryAlert(observed.memoryAlert, usedBytes, limitMb)
          observed.memoryAlert = alert.share
          return alert.isRaised
            ? InstanceLogFile.appendHostLine(logOf(running), "warning", describeMemoryAlert(usedBytes, limitMb))
            : Effect.void
        }),

      checkHealth: Effect.fnUntraced(function* (running: Running) {
        // The token of an adopted instance is unknown; a rejection is a response too.
        const health = yield* probeHealth(client, running.instance.endpoint, Redacted.make("none"))
        const observed = observationsOf(running)
        observed.missedHealthChecks = health === "unresponsive" ? observed.missedHealthChecks + 1 : 0
        if (observed.missedHealthChecks >= maximumMissedHealthChecks) yield* end(running, "it does not respond")
      }),

      recordCpu: (running: Running, cpuMs: number) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          const observed = observationsOf(running)
          const counted = observed.cpu[0]?.cpuMs
          if (counted !== undefined) cpuSeconds.unsafeUpdate(Math.max(0, cpuMs - counted) / 1000, [])
          observed.cpu = [{ cpuMs, at }, ...observed.cpu.slice(0, 1)]
        }),

      /** Percent of one core over the last seconds. */
      measureCpu: (running: Running, cpuMs: number) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          const started = { cpuMs: 0, at: running.instance.startedAt.epochMillis }
          const before = observationsOf(running).cpu.find((sample) => at - sample.at >= 1000) ?? started
          return computeCpuPercent(before, { cpuMs, at })
        }),

      checkEvery: <E>(
        interval: Duration.DurationInput,
        check: (running: Running) => Effect.Effect<void, E>,
        concurrency: number
      ) =>
        Effect.suspend(() =>
          Effect.forEach(
            list(),
            (running) =>
              Effect.catchAllCause(check(running), (cause) =>
                Effect.logError("Instance check failed", cause).pipe(
                  Effect.annotateLogs({ userId: running.instance.owner })
                )
              ),
            { concurrency, discard: true }
          )
        ).pipe(Effect.schedule(Schedule.spaced(interval)), Effect.forkScoped)
    }
  })
