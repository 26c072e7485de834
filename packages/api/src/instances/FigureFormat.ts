/** Text for a figure that the host does not report. */
export const notAvailable = "N/A"

export const formatPercent = (value: number | null): string => (value === null ? notAvailable : `${value.toFixed(2)}%`)

/** Formats a percentage; not available if the whole is zero. */
export const formatShare = (part: number, whole: number): string =>
  formatPercent(whole === 0 ? null : (100 * part) / whole)

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const

export const formatBytes = (value: number): string => {
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10))
  const scaled = value / 1024 ** power
  return `${power === 0 ? scaled : scaled.toFixed(1)}${units[power] ?? "B"}`
}

/** Formats two amounts: used and limit, or received and sent. */
export const formatPair = (left: number | null, right: number | null): string =>
  left === null ? notAvailable : right === null ? formatBytes(left) : `${formatBytes(left)} / ${formatBytes(right)}`

/** Formats milliseconds in the two largest nonzero units. */
export const formatDuration = (millis: number): string => {
  const seconds = Math.floor(Math.max(0, millis) / 1000)
  const parts: ReadonlyArray<readonly [number, string]> = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"]
  ]
  const first = parts.findIndex(([amount]) => amount > 0)
  return first === -1
    ? "0s"
    : parts
        .slice(first, first + 2)
        .filter(([amount]) => amount > 0)
        .map(([amount, unit]) => `${amount}${unit}`)
        .join(" ")
}
