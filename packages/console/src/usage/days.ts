export interface Day {
  readonly day: string
  readonly units: number
}

/** Every UTC day of the period, oldest first; days without usage have 0 units. */
export const fillDays = (found: ReadonlyArray<Day>, days: number, now: number): ReadonlyArray<Day> =>
  Array.from({ length: days }, (_, index) => {
    const day = new Date(now - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10)
    return { day: day.slice(5), units: found.find((one) => one.day === day)?.units ?? 0 }
  })
