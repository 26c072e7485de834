import { Schema } from "effect"

/** What the host says of a cell that is up. Null is what this host, or this kind of cell, does not tell. */
export const InstanceStats = Schema.Struct({
  /** Of one core, over the last seconds; 250 is two and a half cores. */
  cpuPercent: Schema.NullOr(Schema.Number),
  memoryBytes: Schema.NullOr(Schema.Int),
  memoryLimitBytes: Schema.NullOr(Schema.Int),
  networkReceivedBytes: Schema.NullOr(Schema.Int),
  networkSentBytes: Schema.NullOr(Schema.Int),
  /** Processes and threads. */
  pids: Schema.NullOr(Schema.Int),
  startedAt: Schema.DateTimeUtc
}).annotations({ identifier: "InstanceStats" })
export type InstanceStats = typeof InstanceStats.Type
