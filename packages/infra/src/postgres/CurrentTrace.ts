import type { TraceParent } from "@berth/domain/jobs/JobKind"
import { Effect } from "effect"

/**
 * Returns the current span to store in a row, so that later work joins its trace. Without a tracer the span has no W3C
 * ids.
 */
export const currentTrace: Effect.Effect<TraceParent | null> = Effect.currentSpan.pipe(
  Effect.map(({ traceId, spanId, sampled }) => (/^[0-9a-f]{32}$/.test(traceId) ? { traceId, spanId, sampled } : null)),
  Effect.catchTag("NoSuchElementException", () => Effect.succeed(null))
)
