const dateTime = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" })
const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" })
const time = new Intl.DateTimeFormat("en", { timeStyle: "short" })
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" })
const grouped = new Intl.NumberFormat("en")

export type Instant = string | number

export const formatDateTime = (at: Instant): string => dateTime.format(new Date(at))
export const formatDay = (at: Instant): string => day.format(new Date(at))

export const formatDateTimeIn = (at: Instant, timeZone: string): string =>
  new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short", timeZone }).format(new Date(at))
export const formatTime = (at: Instant): string => time.format(new Date(at))
export const formatClock = (at: Instant): string => clock.format(new Date(at))
export const formatNumber = (value: number): string => grouped.format(value)

const steps: ReadonlyArray<readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number]> = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60]
]

/** Formats a time as `5 min. ago`, `in 2 days`; under a minute `now`. */
export const formatRelative = (at: Instant, now: number): string => {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000)
  const found = steps.find(([, size]) => Math.abs(seconds) >= size)
  return found === undefined ? "now" : relative.format(Math.trunc(seconds / found[1]), found[0])
}

/** Formats a duration as `0.8 s`, `12 s`, `2 min`. */
export const formatElapsed = (milliseconds: number): string => {
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`
}

export const formatMoney = (amount: number, currency: string): string =>
  new Intl.NumberFormat("en", { style: "currency", currency }).format(amount)

export const formatSize = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 100 * 1024) return `${(bytes / 1024).toFixed(0)} KiB`
  const megabytes = bytes / 1024 / 1024
  const [size, unit] = megabytes >= 1024 ? [megabytes / 1024, "GiB"] : [megabytes, "MiB"]
  return `${Number(size.toFixed(size < 10 ? 1 : 0))} ${unit}`
}

/** Returns browser and system of a user agent, or its beginning if unknown. */
export const formatUserAgent = (userAgent: string | null): string => {
  if (userAgent === null) return "Unknown browser"
  const browsers: ReadonlyArray<readonly [RegExp, string]> = [
    [/Edg\//, "Edge"],
    [/Firefox\//, "Firefox"],
    [/Chrome\//, "Chrome"],
    [/Safari\//, "Safari"]
  ]
  const systems: ReadonlyArray<readonly [RegExp, string]> = [
    [/iPhone|iPad/, "iOS"],
    [/Android/, "Android"],
    [/Mac OS X/, "macOS"],
    [/Windows/, "Windows"],
    [/Linux/, "Linux"]
  ]
  const browser = browsers.find(([pattern]) => pattern.test(userAgent))?.[1]
  const system = systems.find(([pattern]) => pattern.test(userAgent))?.[1]
  return browser === undefined ? userAgent.slice(0, 80) : system === undefined ? browser : `${browser} on ${system}`
}

export const timezones = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")]

/** The time zone of the browser, or UTC if it is unknown. */
export const ownTimezone = (() => {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return timezones.includes(timeZone) ? timeZone : "UTC"
})()
