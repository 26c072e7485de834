import type { Settings } from "@berth/infra/configuration/Settings"
import { Duration, Option } from "effect"
import { resolve } from "node:path"

export type LogFormat = "pretty" | "json"

const defaultLogFormat: LogFormat = process.stdout.isTTY ? "pretty" : "json"

/** Settings of the supervisor itself. The programs read theirs from the same environment. */
export const toSupervisorSettings = ({
  addresses,
  databaseUrl,
  dataDir,
  drainSeconds,
  log,
  metrics,
  worker
}: Settings) => ({
  ...addresses,
  dataDirectory: resolve(dataDir),
  /** Absent: the embedded server. */
  databaseUrl,
  metricsPort: metrics.port,
  serverDrain: Duration.seconds(drainSeconds),
  workerDrain: Duration.seconds(worker.drainSeconds),
  logFormat: Option.getOrElse(log.format, () => defaultLogFormat),
  logLevel: log.level
})

export type SupervisorSettings = ReturnType<typeof toSupervisorSettings>
