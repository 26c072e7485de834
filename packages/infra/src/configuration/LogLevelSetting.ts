import { Config, ConfigError, Either, LogLevel } from "effect"

const levels: Readonly<Record<string, LogLevel.LogLevel>> = {
  all: LogLevel.All,
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warn: LogLevel.Warning,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  fatal: LogLevel.Fatal,
  none: LogLevel.None
}

/** Reads `LOG_LEVEL`: common level names, case-insensitive. */
export const logLevelSetting = Config.string("LOG_LEVEL").pipe(
  Config.mapOrFail((text) =>
    Either.fromNullable(levels[text.toLowerCase()], () =>
      ConfigError.InvalidData([], `must be one of ${Object.keys(levels).join(", ")}`)
    )
  ),
  Config.withDefault(LogLevel.Info)
)
