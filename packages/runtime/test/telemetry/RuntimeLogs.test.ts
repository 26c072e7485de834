import { runtimeJsonLogger } from "@berth/runtime/telemetry/RuntimeLogs"
import { assert, it } from "@effect/vitest"
import { Effect, Logger, Schema } from "effect"

const lines: Array<unknown> = []
const captured = Logger.replace(
  Logger.defaultLogger,
  Logger.map(runtimeJsonLogger, (line) => lines.push(Schema.decodeUnknownSync(Schema.parseJson(Schema.Unknown))(line)))
)

const decodeLine = Schema.decodeUnknownSync(Schema.Record({ key: Schema.String, value: Schema.String }))

it.live("A log line of the runtime is one JSON object with its trace", () =>
  Effect.gen(function* () {
    yield* Effect.logWarning("A turn failed").pipe(Effect.annotateLogs({ agentId: "agt_1", sessionId: "chs_1" }))
    const span = yield* Effect.currentSpan
    yield* Effect.logInfo("outside").pipe(Effect.withSpan("inner"))
    const { timestamp, ...rest } = decodeLine(lines[0])
    assert.match(timestamp ?? "", /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    assert.deepStrictEqual(rest, {
      level: "warn",
      message: "A turn failed",
      agentId: "agt_1",
      sessionId: "chs_1",
      trace_id: span.traceId,
      span_id: span.spanId
    })
    assert.containSubset(lines[1], { trace_id: span.traceId, message: "outside" })
  }).pipe(Effect.withSpan("test"), Effect.provide(captured))
)
