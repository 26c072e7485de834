const dayName = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" })

interface Day {
  readonly day: string
  readonly units: number
}

/** Lists every UTC day of the period, oldest first; days without usage have 0 units. */
export const fillDays = (found: ReadonlyArray<Day>, days: number, now: number): ReadonlyArray<Day> =>
  Array.from({ length: days }, (_, index) => {
    const date = new Date(now - (days - 1 - index) * 86_400_000)
    const day = date.toISOString().slice(0, 10)
    return { day: dayName.format(date), units: found.find((entry) => entry.day === day)?.units ?? 0 }
  })
