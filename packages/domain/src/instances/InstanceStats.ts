import { Schema } from "effect"

/** The figures of a running instance. Null where the host has none. */
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
