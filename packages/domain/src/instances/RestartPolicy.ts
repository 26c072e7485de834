import { Duration } from "effect"

export const crashWindow = Duration.minutes(10)
const maximumCrashes = 5

/** Returns the delay after the n-th crash within the window (n from 1), or the end of restarts. */
export const decideRestart = (crashes: number): { readonly restartAfter: Duration.Duration } | "give-up" =>
  crashes > maximumCrashes ? "give-up" : { restartAfter: Duration.millis(250 * 2 ** (crashes - 1)) }
