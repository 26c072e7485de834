import { redactText } from "@berth/domain/shared/TextRedaction"
import { apiKeyPrefix } from "@berth/domain/accounts/api-keys/ApiKey"
import { structuredLogger } from "@berth/domain/shared/LogLine"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger, Redacted } from "effect"

const linesOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const lines: Array<Readonly<Record<string, unknown>>> = []
    const keeping = Logger.map(structuredLogger, (line) => {
      lines.push(line)
    })
    yield* Effect.provide(effect, Logger.replace(Logger.defaultLogger, keeping))
    return lines
  })

describe("structured", () => {
  it.effect("A structured log line has the message and the annotations", () =>
    Effect.gen(function* () {
      const [line] = yield* linesOf(
        Effect.logWarning("A thing happened").pipe(Effect.annotateLogs({ agentId: "agt_1", attempt: 2 }))
      )
      assert.deepInclude(line, { level: "warn", message: "A thing happened", agentId: "agt_1", attempt: 2 })
      assert.match(String(line?.["timestamp"]), /^\d{4}-\d\d-\d\dT/)
      assert.notProperty(line, "cause")
      assert.notProperty(line, "trace_id")
    })
  )

  it.effect("A structured log line has its cause without secrets", () =>
    Effect.gen(function* () {
      const error = new Error("connect redis://me:hunter2@host failed", {
        cause: new Error("GET https://a.b/?key=hunter2 by Bearer hunter2hunter2 and sk-hunter2hunter2")
      })
      const [line] = yield* linesOf(Effect.logError("Redis lost", Cause.fail(error)))
      assert.include(line?.["cause"], "connect redis://REDACTED@host failed")
      assert.notInclude(JSON.stringify(line), "hunter2")
    })
  )

  it.effect("A structured log line has the errors beside its message as its cause without secrets", () =>
    Effect.gen(function* () {
      const error = new Error("connect redis://me:hunter2@host failed")
      const [line] = yield* linesOf(Effect.logError("Redis lost", error))
      assert.strictEqual(line?.["message"], "Redis lost")
      assert.include(line?.["cause"], "connect redis://REDACTED@host failed")
    })
  )

  it.effect("A structured log line has its cause without API keys, and with names of metrics", () =>
    Effect.gen(function* () {
      const secret = "hunter2-".repeat(5)
      const error = new Error(`${apiKeyPrefix}${secret} and gsk_${secret} by berth_model_calls_total`)
      const [line] = yield* linesOf(Effect.logError("Call failed", Cause.fail(error)))
      assert.include(line?.["cause"], "REDACTED and REDACTED by berth_model_calls_total")
      assert.notInclude(JSON.stringify(line), "hunter2")
    })
  )

  it("redactText replaces web tokens of any length", () => {
    for (const header of ["eyJhbGciOiJIUzI1NiJ9", `eyJ${"a".repeat(5_000)}`, "id-eyJhbGciOiJIUzI1NiJ9"]) {
      const text = redactText(`token ${header}.eyJzdWIiOiIxIn0.c2ln, next`)
      assert.notInclude(text, "eyJ")
      assert.notInclude(text, "c2ln")
      assert.match(text, /^token (id-)?REDACTED, next$/)
    }
  })

  it("redactText of hostile texts takes linear time", () => {
    for (const unit of ["a", "a-", "a:", "a.", "eyJ-", "eyJ.", "-eyJ-.", "?a=", "sk-", "bearer "]) {
      const began = process.cpuUsage().user
      redactText(unit.repeat(100_000).slice(0, 100_000))
      assert.isBelow(process.cpuUsage().user - began, 500_000, unit)
    }
  })

  it.effect("A structured log line has the ids of its trace and span", () =>
    Effect.gen(function* () {
      let ids: Readonly<Record<string, string>> = {}
      const [line] = yield* linesOf(
        Effect.gen(function* () {
          const span = yield* Effect.currentSpan
          ids = { trace_id: span.traceId, span_id: span.spanId }
          yield* Effect.log("Within")
        }).pipe(Effect.withSpan("test"))
      )
      assert.deepInclude(line, ids)
      assert.match(ids["trace_id"] ?? "", /^[0-9a-f]{32}$/)
    })
  )

  it.effect("A log line with an integer that JSON lacks is encoded and does not fail the caller", () =>
    Effect.gen(function* () {
      const [line] = yield* linesOf(Effect.log("Failed", { span: { start: 1n } }))
      assert.strictEqual(line?.["message"], 'Failed {"span":{"start":"1"}}')
    })
  )

  it.effect("A structured log line has the cause", () =>
    Effect.gen(function* () {
      const [line] = yield* linesOf(Effect.logError("It broke", Cause.fail("the reason")))
      assert.include(String(line?.["cause"]), "the reason")
    })
  )

  it.effect("A structured log line is one line of JSON without secrets", () =>
    Effect.gen(function* () {
      const [line] = yield* linesOf(
        Effect.log("Two\nlines", { password: Redacted.make("hunter2") }).pipe(
          Effect.annotateLogs({ token: Redacted.make("hunter2") })
        )
      )
      const text = JSON.stringify(line)
      assert.notInclude(text, "\n")
      assert.notInclude(text, "hunter2")
    })
  )
})
