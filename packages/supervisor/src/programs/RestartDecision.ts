import { misconfigured } from "@berth/infra/process/ExitCode"
import { Data, Duration } from "effect"

/** How a program ended: with an exit code, or (code -1) by a signal or without having started. */
export interface ProgramExit {
  readonly code: number
  /** Told to people: "exit code 1", "signal SIGKILL". */
  readonly words: string
  readonly ranFor: Duration.Duration
}

export interface History {
  /** Ends in a row that came soon after the start. */
  readonly failures: number
  /** The whole service was up at some time since the supervisor started. */
  readonly wasUp: boolean
}

export const beginning: History = { failures: 0, wasUp: false }

export type RestartDecision = Data.TaggedEnum<{
  Restart: { readonly after: Duration.Duration; readonly failures: number }
  GiveUp: { readonly why: string }
}>

const { GiveUp, Restart } = Data.taggedEnum<RestartDecision>()

const steady = Duration.minutes(1)
const first = Duration.millis(250)
const longest = Duration.seconds(30)

/** Ends in a row that a service may have which never came up: waiting longer would only hide the reason. */
export const mostFailuresAtStart = 5

/** 250 ms, doubled with each failure in a row, at most 30 s. */
export const pause = (failures: number): Duration.Duration =>
  Duration.min(longest, Duration.times(first, 2 ** Math.min(failures, 30)))

/**
 * A program that ended without being asked to is started again, later each time. Not one that says that its
 * configuration is bad, and not one that keeps ending before the service has ever been up.
 */
export const decide = (history: History, exit: ProgramExit): RestartDecision => {
  if (exit.code === misconfigured) return GiveUp({ why: "its configuration cannot work" })
  const failures = Duration.greaterThanOrEqualTo(exit.ranFor, steady) ? 0 : history.failures
  if (!history.wasUp && failures + 1 >= mostFailuresAtStart) {
    return GiveUp({ why: `it ended ${failures + 1} times while starting` })
  }
  return Restart({ after: pause(failures), failures: failures + 1 })
}
