import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import { Config, type Option, type Redacted } from "effect"

export interface RuntimeSettings {
  readonly token: Redacted.Redacted<string>
  /** Base address of the backend API. */
  readonly backendUrl: URL
  /** Absolute. */
  readonly directory: string
  /** Path of the Unix socket to listen on. */
  readonly socket: string
  /** Limit of resident memory in MiB. */
  readonly memoryMb: Option.Option<number>
  /** Quota of all agents' files in MiB. */
  readonly diskMb: number
  /** Base address of an OTLP/HTTP collector. */
  readonly otlpEndpoint: Option.Option<URL>
  readonly serviceName: string
}

export const runtimeSettings: Config.Config<RuntimeSettings> = Config.all({
  token: Config.redacted(Config.nonEmptyString(RuntimeEnvironment.token)),
  backendUrl: Config.url(RuntimeEnvironment.backendUrl),
  directory: Config.nonEmptyString(RuntimeEnvironment.directory),
  socket: Config.nonEmptyString(RuntimeEnvironment.socket),
  memoryMb: Config.option(Config.integer(RuntimeEnvironment.memoryMb)),
  diskMb: Config.integer(RuntimeEnvironment.diskMb).pipe(
    Config.validate({ message: "must be at least 1", validation: (megabytes) => megabytes >= 1 }),
    Config.withDefault(64)
  ),
  otlpEndpoint: Config.option(Config.url(RuntimeEnvironment.otlpEndpoint)),
  serviceName: Config.withDefault(Config.string(RuntimeEnvironment.serviceName), "berth-runtime")
})
