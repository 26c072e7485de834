import { encodeLine, structuredLogger } from "@berth/domain/shared/LogLine"
import { Logger } from "effect"

export const layer = Logger.replace(
  Logger.defaultLogger,
  Logger.withConsoleLog(Logger.map(structuredLogger, encodeLine))
)
