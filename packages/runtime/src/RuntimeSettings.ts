import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import * as FileSystem from "@effect/platform/FileSystem"
import { Config, ConfigError, Effect, Either, type Option, Redacted } from "effect"

/** A Unix socket, or a port on every address. */
type ListenAddress = { readonly path: string } | { readonly host: string; readonly port: number }

export interface RuntimeSettings {
  readonly token: Redacted.Redacted
  /** Base address of the backend API. */
  readonly backendUrl: URL
  /** Absolute. */
  readonly directory: string
  readonly address: ListenAddress
  /** Limit of resident memory in MiB. */
  readonly memoryMb: Option.Option<number>
  /** Quota of all agents' files in MiB. */
  readonly diskMb: number
}

const runtimeEnvironment = Config.all({
  credential: Config.redacted(Config.nonEmptyString(RuntimeEnvironment.token)).pipe(
    Config.map(Either.right),
    Config.orElse(() => Config.map(Config.nonEmptyString(RuntimeEnvironment.tokenFile), Either.left))
  ),
  backendUrl: Config.url(RuntimeEnvironment.backendUrl),
  directory: Config.nonEmptyString(RuntimeEnvironment.directory),
  address: Config.nonEmptyString(RuntimeEnvironment.socket).pipe(
    Config.map((path): ListenAddress => ({ path })),
    Config.orElse(() =>
      Config.map(Config.port(RuntimeEnvironment.port), (port): ListenAddress => ({ host: "0.0.0.0", port }))
    )
  ),
  memoryMb: Config.option(Config.integer(RuntimeEnvironment.memoryMb)),
  diskMb: Config.integer(RuntimeEnvironment.diskMb).pipe(
    Config.validate({ message: "must be at least 1", validation: (megabytes) => megabytes >= 1 }),
    Config.withDefault(64)
  )
})

/** Reads a token from a file and deletes the file. */
const takeToken = Effect.fnUntraced(
  function* (path: string) {
    const files = yield* FileSystem.FileSystem
    const token = yield* files.readFileString(path)
    yield* files.remove(path)
    return Redacted.make(token)
  },
  Effect.mapError(({ message }) => ConfigError.InvalidData([RuntimeEnvironment.tokenFile], message))
)

export const loadRuntimeSettings: Effect.Effect<RuntimeSettings, ConfigError.ConfigError, FileSystem.FileSystem> =
  Effect.gen(function* () {
    const { credential, ...settings } = yield* runtimeEnvironment
    return { ...settings, token: Either.isRight(credential) ? credential.right : yield* takeToken(credential.left) }
  })
