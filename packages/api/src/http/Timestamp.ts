import { Schema } from "effect"

/** ISO 8601 in UTC. */
export const Timestamp = Schema.DateTimeUtc.annotations({
  identifier: "Timestamp",
  description: "ISO 8601, UTC",
  jsonSchema: { type: "string", format: "date-time" }
})
/** Integer milliseconds since 1970. */
export const EpochMillis = Schema.DateTimeUtcFromNumber.annotations({ identifier: "EpochMillis" })
