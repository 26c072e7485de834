import { Context, FiberRef, FiberRefs, HashMap, Logger, Option, Tracer } from "effect"

const pretty = Logger.prettyLogger({ colors: "auto" })

/** Colored lines for a terminal, with the trace of each entry. */
export const prettyLogger = Logger.make<unknown, void>((options) => {
  const span = Context.getOption(FiberRefs.getOrDefault(options.context, FiberRef.currentContext), Tracer.ParentSpan)
  pretty.log(
    Option.match(span, {
      onNone: () => options,
      onSome: ({ traceId }) => ({
        ...options,
        annotations: HashMap.set<string, unknown>(options.annotations, "trace_id", traceId)
      })
    })
  )
})
