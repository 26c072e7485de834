import type { BillingHistoryJson } from "../wire.ts"

type Entry = BillingHistoryJson["entries"][number]

export interface Day {
  readonly day: string
  readonly units: number
}

/** Units by UTC day, oldest first, days without usage included. */
export const sumByDay = (entries: ReadonlyArray<Entry>, days: number, now: number): ReadonlyArray<Day> => {
  const dayOf = (at: number | string) => new Date(at).toISOString().slice(0, 10)
  const sums = new Map<string, number>()
  for (const { createdAt, kind, units } of entries)
    if (kind === "usage") sums.set(dayOf(createdAt), (sums.get(dayOf(createdAt)) ?? 0) + units)
  return Array.from({ length: days }, (_, index) => {
    const day = dayOf(now - (days - 1 - index) * 86_400_000)
    return { day: day.slice(5), units: sums.get(day) ?? 0 }
  })
}

/** Units by cause, most first. */
export const sumByCause = (
  entries: ReadonlyArray<Entry>
): ReadonlyArray<{ readonly cause: string; readonly units: number }> => {
  const sums = new Map<string, number>()
  for (const { description, kind, units } of entries)
    if (kind === "usage") sums.set(description, (sums.get(description) ?? 0) + units)
  return [...sums]
    .map(([cause, units]) => ({ cause, units }))
    .toSorted((one, other) => other.units - one.units)
    .slice(0, 8)
}
