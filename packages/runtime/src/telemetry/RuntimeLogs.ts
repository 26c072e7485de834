import { Cause, Context, FiberRef, FiberRefs, HashMap, Logger, Option, Tracer } from "effect"

/** One JSON object per line. */
export const runtimeJsonLogger: Logger.Logger<unknown, string> = Logger.make(
  ({ annotations, cause, context, date, logLevel, message }) => {
    const span = Context.getOption(FiberRefs.getOrDefault(context, FiberRef.currentContext), Tracer.ParentSpan)
    return JSON.stringify({
      level: logLevel.label.toLowerCase(),
      timestamp: date.toISOString(),
      message: Array.isArray(message) ? message.map(String).join(" ") : String(message),
      ...Object.fromEntries(HashMap.toEntries(annotations)),
      ...(Cause.isEmpty(cause) ? {} : { cause: Cause.pretty(cause) }),
      ...Option.match(span, {
        onNone: () => ({}),
        onSome: ({ spanId, traceId }) => ({ trace_id: traceId, span_id: spanId })
      })
    })
  }
)

export const layer = Logger.replace(Logger.defaultLogger, Logger.withConsoleLog(runtimeJsonLogger))
