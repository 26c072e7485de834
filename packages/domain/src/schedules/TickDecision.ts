import { DateTime, Duration, Option } from "effect"
import type { CronTimes } from "../shared/CronTimes.ts"
import type { OnMissed } from "./Schedule.ts"

/** Maximum delay of a punctual time; a time claimed later is missed. */
export const punctualWithin = Duration.seconds(10)
/** Maximum runs for missed times after an outage, for a schedule with `onMissed` all. */
export const maximumLateRuns = 10
/** Maximum missed times recorded after an outage; older ones are not recorded. */
const maximumRecorded = 50

interface TickSchedule {
  readonly times: CronTimes
  readonly onMissed: OnMissed
  /** First undecided time. */
  readonly nextDueAt: DateTime.Utc
}

export interface TickDecision {
  /** Times to run, oldest first. */
  readonly runs: ReadonlyArray<DateTime.Utc>
  readonly missed: ReadonlyArray<DateTime.Utc>
  /** None if the expression has no further time. */
  readonly nextDueAt: Option.Option<DateTime.Utc>
}

export const findNextDue = (times: CronTimes, after: DateTime.Utc): Option.Option<DateTime.Utc> =>
  Option.fromNullable(times.listAfter(after, 1)[0])

/**
 * Decides the times from `nextDueAt` until now. Never runs a time before `nextDueAt`, so setting the clock back repeats
 * nothing.
 */
export const decideTick = ({ nextDueAt, onMissed, times }: TickSchedule, now: DateTime.Utc): TickDecision => {
  if (DateTime.lessThan(now, nextDueAt)) return { runs: [], missed: [], nextDueAt: Option.some(nextDueAt) }
  const due = times.listNewest(nextDueAt, now, maximumRecorded)
  const isPunctual = (time: DateTime.Utc) => DateTime.distance(time, now) <= Duration.toMillis(punctualWithin)
  const punctual = due.filter(isPunctual)
  const late = due.filter((time) => !isPunctual(time))
  const lateRuns = { skip: 0, once: punctual.length === 0 ? 1 : 0, all: maximumLateRuns }[onMissed]
  const missedCount = late.length - Math.min(lateRuns, late.length)
  return {
    runs: [...late.slice(missedCount), ...punctual],
    missed: late.slice(0, missedCount),
    nextDueAt: findNextDue(times, now)
  }
}
