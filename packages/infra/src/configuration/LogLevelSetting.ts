import { Config, LogLevel, Record } from "effect"
import { readParsed } from "./SettingReaders.ts"

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
export const logLevelSetting = readParsed(
  "LOG_LEVEL",
  (text) => Record.get(levels, text.toLowerCase()),
  `must be one of ${Object.keys(levels).join(", ")}`
).pipe(Config.withDefault(LogLevel.Info))
