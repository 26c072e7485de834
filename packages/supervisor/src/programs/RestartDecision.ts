import { misconfiguredExitCode } from "@berth/infra/process/ExitCode"
import { Data, Duration } from "effect"

/** How a program ended: with an exit code, or (code -1) by a signal or without having started. */
export interface ProgramExit {
  readonly code: number
  /** Told to people: "exit code 1", "signal SIGKILL". */
  readonly description: string
  readonly ranFor: Duration.Duration
}

export interface RestartHistory {
  /** Ends in a row that came soon after the start. */
  readonly failures: number
  /** The whole service was up at some time since the supervisor started. */
  readonly hasBeenUp: boolean
}

export const initialRestartHistory: RestartHistory = { failures: 0, hasBeenUp: false }

export type RestartDecision = Data.TaggedEnum<{
  Restart: { readonly after: Duration.Duration; readonly failures: number }
  GiveUp: { readonly reason: string }
}>

const { GiveUp, Restart } = Data.taggedEnum<RestartDecision>()

const stableAfter = Duration.minutes(1)
const initialDelay = Duration.millis(250)
const maximumDelay = Duration.seconds(30)

/** Ends in a row that a service may have which never came up: waiting longer would only hide the reason. */
export const maximumStartFailures = 5

/** 250 ms, doubled with each failure in a row, at most 30 s. */
export const computeRestartDelay = (failures: number): Duration.Duration =>
  Duration.min(maximumDelay, Duration.times(initialDelay, 2 ** Math.min(failures, 30)))

/**
 * A program that ended without being asked to is started again, later each time. Not one that says that its
 * configuration is bad, and not one that keeps ending before the service has ever been up.
 */
export const decideProgramRestart = (history: RestartHistory, exit: ProgramExit): RestartDecision => {
  if (exit.code === misconfiguredExitCode) return GiveUp({ reason: "its configuration cannot work" })
  const failures = Duration.greaterThanOrEqualTo(exit.ranFor, stableAfter) ? 0 : history.failures
  if (!history.hasBeenUp && failures + 1 >= maximumStartFailures) {
    return GiveUp({ reason: `it ended ${failures + 1} times while starting` })
  }
  return Restart({ after: computeRestartDelay(failures), failures: failures + 1 })
}
