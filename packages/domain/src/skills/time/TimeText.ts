import { DateTime, Option } from "effect"
import { oncePerObject } from "../../shared/ObjectMemo.ts"

export const parseZoneOrUtc = (name: string): DateTime.TimeZone.Named =>
  Option.getOrElse(DateTime.zoneMakeNamed(name), () => DateTime.zoneUnsafeMakeNamed("UTC"))

/** Creating a format takes longer than many uses of it; Effect returns one object per name of a zone. */
const formatOf = oncePerObject(
  (zone: DateTime.TimeZone.Named) =>
    new Intl.DateTimeFormat("en-GB", {
      timeZone: zone.id,
      weekday: "long",
      day: "numeric",
      month: "long",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23"
    })
)

/** For example "Thursday 15 January 2026 at 23:30 (UTC)". */
export const formatTimeText = (now: DateTime.Utc, zone: DateTime.TimeZone.Named): string =>
  `${DateTime.formatIntl(now, formatOf(zone))} (${zone.id})`
