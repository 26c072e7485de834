import { DateTime, Option } from "effect"

export const parseZoneOrUtc = (name: string): DateTime.TimeZone.Named =>
  Option.getOrElse(DateTime.zoneMakeNamed(name), () => DateTime.zoneUnsafeMakeNamed("UTC"))

/** For example "Thursday 15 January 2026 at 23:30 (UTC)". */
export const formatTimeText = (now: DateTime.Utc, zone: DateTime.TimeZone.Named): string =>
  `${DateTime.format(now, {
    locale: "en-GB",
    timeZone: zone.id,
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23"
  })} (${zone.id})`
