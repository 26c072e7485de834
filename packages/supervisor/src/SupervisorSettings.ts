import { logLevelSetting } from "@berth/infra/configuration/LogLevelSetting"
import { Config, Duration, Option } from "effect"
import { resolve } from "node:path"

const port = (name: string, fallback: number) => Config.port(name).pipe(Config.withDefault(fallback))

const seconds = (name: string, fallback: number) =>
  Config.integer(name).pipe(Config.withDefault(fallback), Config.map(Duration.seconds))

export type LogFormat = "pretty" | "json"

export const defaultLogFormat: LogFormat = process.stdout.isTTY ? "pretty" : "json"

/** The supervisor's settings. The programs read theirs from the same environment. */
export const supervisorSettings = Config.all({
  dataDirectory: Config.string("DATA_DIR").pipe(
    Config.withDefault(".data"),
    Config.map((path) => resolve(path))
  ),
  /** Absent: the embedded server. */
  databaseUrl: Config.option(Config.redacted("DATABASE_URL")),
  host: Config.string("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: port("PORT", 3000),
  backendHost: Config.string("BACKEND_HOST").pipe(Config.withDefault("127.0.0.1")),
  backendPort: port("BACKEND_PORT", 4000),
  serverDrain: seconds("DRAIN_SECONDS", 30),
  workerDrain: seconds("WORKER_DRAIN_SECONDS", 300),
  logFormat: Config.option(Config.literal("pretty", "json")("LOG_FORMAT")).pipe(
    Config.map(Option.getOrElse(() => defaultLogFormat))
  ),
  logLevel: logLevelSetting
})

export type SupervisorSettings = Config.Config.Success<typeof supervisorSettings>
