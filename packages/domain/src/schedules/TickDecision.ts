import { DateTime, Duration, Option } from "effect"
import type { CronTimes } from "../shared/CronTimes.ts"
import type { OnMissed } from "./Schedule.ts"

/** A time that is claimed later than this after it was due is missed. */
export const punctualWithin = Duration.seconds(10)
/** Runs for missed times of a schedule with `onMissed` all, after one outage. */
export const maximumLateRuns = 10
/** Missed times that the history of a schedule records, after one outage; older ones are not recorded. */
const maximumRecorded = 50

export interface TickSchedule {
  readonly times: CronTimes
  readonly onMissed: OnMissed
  /** The first time that has not been decided. */
  readonly nextDueAt: DateTime.Utc
}

export interface TickDecision {
  /** Times that run, oldest first. */
  readonly runs: ReadonlyArray<DateTime.Utc>
  readonly missed: ReadonlyArray<DateTime.Utc>
  /** None for an expression without a further time. */
  readonly nextDueAt: Option.Option<DateTime.Utc>
}

export const findNextDue = (times: CronTimes, after: DateTime.Utc): Option.Option<DateTime.Utc> =>
  Option.fromNullable(times.listAfter(after, 1)[0])

/** Decides what becomes of the times from `nextDueAt` until now. Nothing before `nextDueAt` runs, so a clock set back repeats nothing. */
export const decideTick = ({ nextDueAt, onMissed, times }: TickSchedule, now: DateTime.Utc): TickDecision => {
  if (DateTime.lessThan(now, nextDueAt)) return { runs: [], missed: [], nextDueAt: Option.some(nextDueAt) }
  const due = times.listNewest(nextDueAt, now, maximumRecorded)
  const isPunctual = (time: DateTime.Utc) => DateTime.distance(time, now) <= Duration.toMillis(punctualWithin)
  const punctual = due.filter(isPunctual)
  const late = due.filter((time) => !isPunctual(time))
  const lateRuns = { skip: 0, once: punctual.length === 0 ? 1 : 0, all: maximumLateRuns }[onMissed]
  const kept = late.length - Math.min(lateRuns, late.length)
  return {
    runs: [...late.slice(kept), ...punctual],
    missed: late.slice(0, kept),
    nextDueAt: findNextDue(times, now)
  }
}
