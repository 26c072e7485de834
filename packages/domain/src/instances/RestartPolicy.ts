import { Duration } from "effect"

/** Deaths of a cell within this span count together. */
export const crashWindow = Duration.minutes(10)
const maximumDeaths = 5

/** After the n-th death within the window (n from 1): wait this long and restart, or give the cell up for good. */
export const decideRestart = (deaths: number): { readonly restartAfter: Duration.Duration } | "give-up" =>
  deaths > maximumDeaths ? "give-up" : { restartAfter: Duration.millis(250 * 2 ** (deaths - 1)) }
