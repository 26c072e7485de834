import { type Duration, Effect, Option, Schedule } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import * as InstanceChecks from "../InstanceChecks.ts"
import type { ClusterClient } from "./ClusterClient.ts"
import { instanceSelector } from "./PodNames.ts"
import { readPodFigures } from "./PodState.ts"
import type { RunningPod, RunningPods } from "./RunningPods.ts"

export interface PodMonitorIntervals {
  readonly health: Duration.DurationInput
}

export const defaultPodMonitorIntervals: PodMonitorIntervals = { health: "10 seconds" }

interface PodMonitorOptions {
  readonly client: ClusterClient
  readonly running: RunningPods
  readonly runtime: RuntimeClient
  readonly intervals: PodMonitorIntervals
}

/** Ends instances that hang, and warns about those near their memory limit; runs until the scope closes. */
export const make = Effect.fnUntraced(function* ({ client, intervals, running, runtime }: PodMonitorOptions) {
  const checks = yield* InstanceChecks.make<RunningPod>({
    list: running.list,
    logOf: ({ names }) => names,
    endWithReason: running.endWithReason,
    client: runtime
  })

  /** One request for all pods. Without a metrics server, or permission to read it, there are no warnings. */
  const checkMemory = client.listMetrics(instanceSelector).pipe(
    Effect.flatMap((metrics) => {
      const figures = new Map(metrics.map((pod) => [pod.metadata.name, Option.getOrNull(readPodFigures(pod))]))
      return Effect.forEach(
        running.list(),
        (pod) => {
          const bytes = figures.get(pod.names.pod)?.memoryBytes ?? null
          return bytes === null ? Effect.void : checks.checkMemory(pod, bytes, pod.memoryMb)
        },
        { discard: true }
      )
    }),
    Effect.catchAll(({ message }) =>
      Effect.logDebug("Metrics of pods not read").pipe(Effect.annotateLogs({ reason: message }))
    )
  )

  yield* checks.checkEvery(intervals.health, checks.checkHealth, 16)
  yield* Effect.forkScoped(Effect.repeat(checkMemory, Schedule.spaced(intervals.health)))
})
