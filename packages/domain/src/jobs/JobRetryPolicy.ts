import { Duration } from "effect"

export interface JobRetryPolicy {
  /** Maximum attempts before the job becomes a dead letter. */
  readonly attempts: number
  readonly maximumPause: Duration.Duration
}

export const defaultRetryPolicy: JobRetryPolicy = { attempts: 5, maximumPause: Duration.minutes(15) }

/** For jobs that end only by success or by `JobPermanentlyFailed`. */
export const unlimitedRetries: JobRetryPolicy = { ...defaultRetryPolicy, attempts: Number.POSITIVE_INFINITY }

/** Maximum age at which an unsupported job waits for a worker that supports it. */
export const unsupportedJobWait = { retention: Duration.minutes(30), pause: Duration.seconds(15) }

const firstRetryPause = Duration.seconds(2)

/**
 * Returns the pause after a number of failed attempts: doubles up to the maximum, reduced by up to half for `random`
 * from 0 to 1.
 */
export const computeRetryPause = (
  { maximumPause }: Pick<JobRetryPolicy, "maximumPause">,
  failedRuns: number,
  random: number,
  first: Duration.Duration = firstRetryPause
): Duration.Duration =>
  Duration.times(Duration.min(Duration.times(first, 2 ** (failedRuns - 1)), maximumPause), 1 - random / 2)
