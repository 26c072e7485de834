import { Schema } from "effect"

/** Figures of a running instance; null if the host does not report them. */
export const InstanceStats = Schema.Struct({
  /** Percent of one core over the last seconds; 250 is two and a half cores. */
  cpuPercent: Schema.NullOr(Schema.Number),
  memoryBytes: Schema.NullOr(Schema.Int),
  memoryLimitBytes: Schema.NullOr(Schema.Int),
  networkReceivedBytes: Schema.NullOr(Schema.Int),
  networkSentBytes: Schema.NullOr(Schema.Int),
  /** Number of processes and threads. */
  pids: Schema.NullOr(Schema.Int),
  startedAt: Schema.DateTimeUtc
}).annotations({ identifier: "InstanceStats" })
export type InstanceStats = typeof InstanceStats.Type
