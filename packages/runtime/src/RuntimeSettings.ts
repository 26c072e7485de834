import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import { Config, type Option, type Redacted } from "effect"

/** All that a cell is told from outside. */
export interface RuntimeSettings {
  readonly token: Redacted.Redacted<string>
  /** Base address of the backend API. */
  readonly backendUrl: URL
  /** The cell's own directory, absolute. */
  readonly directory: string
  /** Resident memory the cell may hold, in MiB. */
  readonly memoryMb: Option.Option<number>
  /** What the files of the cell's agents may take together, in MiB. */
  readonly diskMb: number
  /** Base address of an OTLP/HTTP collector. */
  readonly otlpEndpoint: Option.Option<URL>
  readonly serviceName: string
}

export const runtimeSettings: Config.Config<RuntimeSettings> = Config.all({
  token: Config.redacted(Config.nonEmptyString(RuntimeEnvironment.token)),
  backendUrl: Config.url(RuntimeEnvironment.backendUrl),
  directory: Config.nonEmptyString(RuntimeEnvironment.directory),
  memoryMb: Config.option(Config.integer(RuntimeEnvironment.memoryMb)),
  diskMb: Config.integer(RuntimeEnvironment.diskMb).pipe(
    Config.validate({ message: "must be at least 1", validation: (megabytes) => megabytes >= 1 }),
    Config.withDefault(64)
  ),
  otlpEndpoint: Config.option(Config.url(RuntimeEnvironment.otlpEndpoint)),
  serviceName: Config.withDefault(Config.string(RuntimeEnvironment.serviceName), "berth-runtime")
})
