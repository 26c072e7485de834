import { Cron } from "croner"
import { DateTime, Either } from "effect"

export const maximumCronLength = 100

export interface CronTimes {
  /** Up to `limit` times after `after`, oldest first. */
  readonly listAfter: (after: DateTime.Utc, limit: number) => ReadonlyArray<DateTime.Utc>
  /** The newest times from `from` to `until` inclusive, at most `limit`, oldest first. */
  readonly listNewest: (from: DateTime.Utc, until: DateTime.Utc, limit: number) => ReadonlyArray<DateTime.Utc>
}

export const isTimezone = (timezone: string) =>
  Either.isRight(Either.try(() => new Intl.DateTimeFormat("en", { timeZone: timezone })))

/**
 * Parses 5 fields, or 6 with seconds first. A fixed time skipped by a change to summer time runs after the change; a
 * time repeated by a change to winter time runs at its first occurrence.
 */
export const parseCron = (cron: string, timezone: string): Either.Either<CronTimes, string> => {
  if (!isTimezone(timezone)) return Either.left("timezone must be an IANA time zone, for example Europe/London.")
  const fields = cron.trim().split(/\s+/).length
  const example = "for example `0 9 * * 1-5` for nine o'clock on weekdays."
  if (cron.length > maximumCronLength || fields < 5 || fields > 6)
    return Either.left(`cron must have 5 or 6 fields, ${example}`)
  return Either.mapLeft(
    Either.try(() => makeTimes(new Cron(cron, { timezone, mode: "5-or-6-parts" }))),
    () => `cron must have valid fields, ${example}`
  )
}

/** A cron expression has no year, so it names a time after every moment or none. */
export const hasTime = (times: CronTimes) => times.listAfter(DateTime.unsafeMake(0), 1).length > 0

export const noTimeReason = "names no time that will come."

const toDate = (moment: DateTime.Utc) => new Date(moment.epochMillis)

const makeTimes = (cron: Cron): CronTimes => ({
  listAfter: (after, limit) => cron.nextRuns(limit, toDate(after)).map((time) => DateTime.unsafeMake(time)),
  listNewest: (from, until, limit) => {
    const times: Array<DateTime.Utc> = []
    // Cron times precede the reference strictly, in whole seconds.
    let reference = new Date(Math.floor(until.epochMillis / 1000) * 1000 + 1000)
    while (times.length < limit) {
      const [time] = cron.previousRuns(1, reference)
      if (time === undefined || time.getTime() < from.epochMillis) break
      if (time.getTime() <= until.epochMillis) times.unshift(DateTime.unsafeMake(time))
      reference = time
    }
    return times
  }
})
