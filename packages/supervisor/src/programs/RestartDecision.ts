import { misconfiguredExitCode } from "@berth/infra/process/ExitCode"
import { Data, Duration } from "effect"

/** Exit of a program. The code is -1 after a signal or a failed spawn. */
export interface ProgramExit {
  readonly code: number
  /** For example "exit code 1" or "signal SIGKILL". */
  readonly description: string
  readonly ranFor: Duration.Duration
}

interface RestartHistory {
  /** Consecutive exits soon after the start. */
  readonly failures: number
  /** Whether the whole service has been ready since the supervisor started. */
  readonly hasBeenUp: boolean
}

type RestartDecision = Data.TaggedEnum<{
  Restart: { readonly after: Duration.Duration; readonly failures: number }
  GiveUp: { readonly reason: string }
}>

const { GiveUp, Restart } = Data.taggedEnum<RestartDecision>()

const stableAfter = Duration.minutes(1)
const initialDelay = Duration.millis(250)
const maximumDelay = Duration.seconds(30)

/** Maximum consecutive exits of a service that was never ready; more restarts would only hide the reason. */
export const maximumStartFailures = 5

/** 250 ms, doubled with each consecutive failure, at most 30 s. */
export const computeRestartDelay = (failures: number): Duration.Duration =>
  Duration.min(maximumDelay, Duration.times(initialDelay, 2 ** Math.min(failures, 30)))

/**
 * Restarts with increasing delay; gives up for invalid settings, and after repeated exits of a service that was never
 * ready.
 */
export const decideProgramRestart = (history: RestartHistory, exit: ProgramExit): RestartDecision => {
  if (exit.code === misconfiguredExitCode) return GiveUp({ reason: "its settings are unusable" })
  const failures = Duration.greaterThanOrEqualTo(exit.ranFor, stableAfter) ? 0 : history.failures
  if (!history.hasBeenUp && failures + 1 >= maximumStartFailures) {
    return GiveUp({ reason: `it exited ${failures + 1} times while starting` })
  }
  return Restart({ after: computeRestartDelay(failures), failures: failures + 1 })
}
