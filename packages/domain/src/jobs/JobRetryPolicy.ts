import { Duration } from "effect"

/** Runs and pauses of a job that fails. */
export interface JobRetryPolicy {
  /** Runs before the job becomes a dead letter. */
  readonly attempts: number
  readonly maximumPause: Duration.Duration
}

export const defaultRetryPolicy: JobRetryPolicy = { attempts: 5, maximumPause: Duration.minutes(15) }

/** For jobs that end by success or by `JobPermanentlyFailed` alone. */
export const unlimitedRetries: JobRetryPolicy = { ...defaultRetryPolicy, attempts: Number.POSITIVE_INFINITY }

/** A job that a worker does not support waits up to this age for a worker that does. */
export const unsupportedJobWait = { retention: Duration.minutes(30), pause: Duration.seconds(15) }

export const firstRetryPause = Duration.seconds(2)

/** The pause after a number of failed runs: doubles up to the maximum, less up to half of it by `random` from 0 to 1. */
export const computeRetryPause = (
  { maximumPause }: Pick<JobRetryPolicy, "maximumPause">,
  failedRuns: number,
  random: number,
  first: Duration.Duration = firstRetryPause
): Duration.Duration =>
  Duration.times(Duration.min(Duration.times(first, 2 ** (failedRuns - 1)), maximumPause), 1 - random / 2)
