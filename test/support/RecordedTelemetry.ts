import { encodeLine } from "@berth/domain/shared/LogLine"
import { Layer, Logger, Tracer } from "effect"

/** A tracer Layer that records the name, attributes, events and exit of its spans. */
export const recordSpans = () => {
  const spans: Array<Map<string, unknown>> = []
  const tracer = Tracer.make({
    context: (run) => run(),
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>([["name", name]])
      spans.push(attributes)
      return {
        _tag: "Span",
        name,
        spanId: "00f067aa0ba902b7",
        traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
        parent,
        context,
        status: { _tag: "Started", startTime },
        attributes,
        links: [...links],
        sampled: true,
        kind,
        end: (_, exit) => attributes.set("exit", exit._tag),
        attribute: (key, value) => attributes.set(key, value),
        event: (event) => attributes.set(event, true),
        addLinks: () => undefined
      }
    }
  })
  return { spans, layer: Layer.setTracer(tracer) }
}

/** A logger Layer that records its lines as JSON. */
export const recordLogs = () => {
  const lines: Array<string> = []
  const logger = Logger.make((line) => void lines.push(encodeLine(Logger.structuredLogger.log(line))))
  return { lines, layer: Logger.replace(Logger.defaultLogger, logger) }
}
