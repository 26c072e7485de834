import { Duration, Effect, Redacted, Schedule } from "effect"

/** Returns host and port of a URL, without its password. */
export const readHostPort = (url: Redacted.Redacted, defaultPort: number): string => {
  const value = Redacted.value(url)
  if (!URL.canParse(value)) return "an unreadable address"
  const { host, port } = new URL(value)
  return port === "" ? `${host}:${defaultPort}` : host
}

const maximumInterval = Duration.seconds(15)

/**
 * Repeats a probe at start until the system responds, at increasing intervals with one log line per attempt. Fails for
 * a permanent error, or after `atMost`.
 */
export const waitUntilResponding = <A, E>(
  probe: Effect.Effect<A, E>,
  options: {
    /** For example "PostgreSQL at db:5432". */
    readonly system: string
    readonly describe: (error: E) => string
    readonly isPermanent: (error: E) => boolean
    readonly atMost?: Duration.DurationInput | undefined
  }
): Effect.Effect<A, E> => {
  const intervals = Schedule.union(Schedule.exponential("250 millis"), Schedule.spaced(maximumInterval))
  return probe.pipe(
    Effect.tapError((error) =>
      options.isPermanent(error)
        ? Effect.void
        : Effect.logWarning(`${options.system} does not respond yet (${options.describe(error)})`)
    ),
    Effect.retry({
      schedule: options.atMost === undefined ? intervals : Schedule.upTo(intervals, options.atMost),
      while: (error) => !options.isPermanent(error)
    })
  )
}
