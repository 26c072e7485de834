import { CellEnvironment } from "@berth/api/cell/CellContract"
import { Config, type Option, type Redacted } from "effect"

/** All that a cell is told from outside. */
export interface Settings {
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

export const settings: Config.Config<Settings> = Config.all({
  token: Config.redacted(Config.nonEmptyString(CellEnvironment.token)),
  backendUrl: Config.url(CellEnvironment.backendUrl),
  directory: Config.nonEmptyString(CellEnvironment.directory),
  memoryMb: Config.option(Config.integer(CellEnvironment.memoryMb)),
  diskMb: Config.integer(CellEnvironment.diskMb).pipe(
    Config.validate({ message: "must be at least 1", validation: (megabytes) => megabytes >= 1 }),
    Config.withDefault(64)
  ),
  otlpEndpoint: Config.option(Config.url(CellEnvironment.otlpEndpoint)),
  serviceName: Config.withDefault(Config.string(CellEnvironment.serviceName), "berth-cell")
})
