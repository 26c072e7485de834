import { type Duration, Effect, Redacted, Schedule } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import { maximumMissedHealthChecks, probeHealth } from "../HealthProbe.ts"
import type { RunningPod, RunningPods } from "./RunningPods.ts"

export interface PodMonitorIntervals {
  readonly health: Duration.DurationInput
}

export const defaultPodMonitorIntervals: PodMonitorIntervals = { health: "10 seconds" }

export interface PodMonitorOptions {
  readonly running: RunningPods
  readonly runtime: RuntimeClient
  readonly intervals: PodMonitorIntervals
}

/** Ends instances that hang, and finds exits that the watch missed, for as long as the scope is open. */
export const make = ({ intervals, running, runtime }: PodMonitorOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const missed = new WeakMap<RunningPod, number>()

    const check = (pod: RunningPod) =>
      Effect.gen(function* () {
        // An adopted instance's token is unknown; a rejection is an answer too.
        const health = yield* probeHealth(runtime, pod.instance.endpoint, Redacted.make("none"))
        const count = health === "unresponsive" ? (missed.get(pod) ?? 0) + 1 : 0
        missed.set(pod, count)
        // In the background: a pod that ignores SIGTERM must not delay the checks of the others.
        if (count >= maximumMissedHealthChecks)
          yield* Effect.forkIn(running.endWithReason(pod, "it does not answer"), scope)
      })

    yield* Effect.suspend(() => Effect.forEach(running.list(), check, { concurrency: 16, discard: true })).pipe(
      Effect.schedule(Schedule.spaced(intervals.health)),
      Effect.forkScoped
    )
  })
