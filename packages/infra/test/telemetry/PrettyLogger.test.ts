import { logInfoWith } from "@berth/domain/shared/AnnotatedLog"
import { prettyLogger } from "@berth/infra/telemetry/PrettyLogger"
import { assert, describe, it, vi } from "@effect/vitest"
import { Cause, Effect, Logger } from "effect"

/** Runs an effect in a span, and returns what it logs with the trace of the span. */
const write = (log: Effect.Effect<void>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => vi.spyOn(console, "log").mockImplementation(() => undefined)),
    (written) =>
      Effect.zipRight(log, Effect.currentSpan).pipe(
        Effect.withSpan("request"),
        Effect.provide(Logger.replace(Logger.defaultLogger, prettyLogger)),
        Effect.map(({ traceId }) => ({ text: JSON.stringify(written.mock.calls), traceId }))
      ),
    (written) => Effect.sync(() => written.mockRestore())
  )

describe("prettyLogger", () => {
  it.effect("prettyLogger writes the entries of a span with its trace", () =>
    Effect.gen(function* () {
      const annotated = Effect.annotateLogs(Effect.logInfo("Request"), { status: 418 })
      for (const log of [logInfoWith("Request", { status: 418 }), annotated]) {
        const { text, traceId } = yield* write(log)
        for (const part of ["INFO", "Request", "status", "418", "trace_id", traceId]) assert.include(text, part)
      }
    })
  )

  it.effect("prettyLogger writes causes without secrets", () =>
    Effect.gen(function* () {
      const error = new Error("connect redis://me:hunter2@host failed")
      for (const log of [Effect.logError("Redis lost", Cause.fail(error)), Effect.logError("Redis lost", error)]) {
        const { text } = yield* write(log)
        for (const part of ["ERROR", "Redis lost", "cause", "connect redis://REDACTED@host failed"])
          assert.include(text, part)
        assert.notInclude(text, "hunter2")
      }
    })
  )
})
