import { observeExports } from "@berth/infra/telemetry/ExportFailures"
import type { OtlpProtocol, OtlpSignal, TelemetrySettings } from "@berth/infra/configuration/TelemetrySettings"
import * as OtelExport from "@berth/infra/telemetry/OtelExport"
import { type RuntimeSpan, RuntimeSpanExporter } from "@berth/domain/instances/RuntimeSpans"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, describe, it } from "@effect/vitest"
import { measureCall } from "@berth/domain/ai/calls/ModelTelemetry"
import { findUnit } from "@berth/infra/telemetry/MetricConventions"
import { HttpServerRequest } from "@effect/platform"
import { RequestTimer } from "@berth/server/http/RequestTelemetry"
import { type KnownRoute, makePlainRoute } from "@berth/server/http/RouteTable"
import { Cause, Effect, Layer, Metric, Option, Schema, Tracer } from "effect"
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, vi } from "vitest"
import { makeFakeOtelCollector } from "../fakes/FakeOtelCollector.ts"
import { eventually } from "../support/Eventually.ts"
import { recordLogs } from "../support/RecordedTelemetry.ts"

const Exported = Schema.parseJson(
  Schema.Struct({
    resourceMetrics: Schema.Array(
      Schema.Struct({
        scopeMetrics: Schema.Array(
          Schema.Struct({
            metrics: Schema.Array(
              Schema.Struct({
                name: Schema.String,
                unit: Schema.String,
                histogram: Schema.optional(
                  Schema.Struct({
                    dataPoints: Schema.Array(
                      Schema.Struct({
                        attributes: Schema.Array(
                          Schema.Struct({
                            key: Schema.String,
                            value: Schema.Struct({
                              stringValue: Schema.optional(Schema.String),
                              intValue: Schema.optional(Schema.Number)
                            })
                          })
                        ),
                        explicitBounds: Schema.Array(Schema.Number)
                      })
                    )
                  })
                )
              })
            )
          })
        )
      })
    )
  })
)

const ExportedLogs = Schema.parseJson(
  Schema.Struct({
    resourceLogs: Schema.Array(
      Schema.Struct({
        scopeLogs: Schema.Array(
          Schema.Struct({
            logRecords: Schema.Array(
              Schema.Struct({
                body: Schema.Struct({ stringValue: Schema.String }),
                flags: Schema.optional(Schema.Number),
                attributes: Schema.Array(
                  Schema.Struct({
                    key: Schema.String,
                    value: Schema.Struct({ stringValue: Schema.optional(Schema.String) })
                  })
                )
              })
            )
          })
        )
      })
    )
  })
)

const identity = { serviceName: "berth-test", serviceVersion: "1.2.3", serviceInstanceId: "one", role: "backend" }

const exportTo = (url: string, signals: ReadonlyArray<OtlpSignal>, protocol: OtlpProtocol = "http/json") => {
  const at = (signal: OtlpSignal) =>
    signals.includes(signal) ? Option.some({ protocol, url: `${url}/v1/${signal}` }) : Option.none()
  const settings: TelemetrySettings = {
    signals: { traces: at("traces"), metrics: at("metrics"), logs: at("logs") },
    metricIntervalMillis: 60_000,
    resourceAttributes: { "deployment.environment.name": "test" },
    serviceName: Option.none()
  }
  return OtelExport.layer(settings, identity)
}

describe("export by OTLP", () => {
  beforeAll(() => {
    vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b,authorization=Basic hunter2")
    vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "20")
  })
  afterAll(() => vi.unstubAllEnvs())

  it.scopedLive("A process exports its last spans, metrics and logs before it ends", () =>
    Effect.gen(function* () {
      const collector = yield* makeFakeOtelCollector
      const parent = Tracer.externalSpan({
        traceId: "0af7651916cd43dd8448eb211c80319c",
        spanId: "b7ad6b7169203331",
        sampled: true
      })
      yield* Effect.logWarning("Half done").pipe(
        Effect.annotateLogs({ agentId: "agt_1" }),
        Effect.withSpan("Agents.provision", { parent, attributes: { "agent.id": "agt_1" } }),
        Effect.zipRight(
          Metric.increment(Metric.counter("berth_test_total", { description: "Exported", incremental: true }))
        ),
        Effect.provide(exportTo(collector.url, ["traces", "metrics", "logs"]))
      )
      const [span] = collector.spans()
      assert.containSubset(span, {
        name: "Agents.provision",
        traceId: parent.traceId,
        parentSpanId: parent.spanId,
        kind: "internal",
        isError: false,
        attributes: { "berth.agent.id": "agt_1" },
        events: [],
        resource: {
          "service.name": "berth-test",
          "service.version": "1.2.3",
          "service.namespace": "berth",
          "service.instance.id": "one",
          "berth.role": "backend",
          "deployment.environment.name": "test"
        }
      })
      const bodyOf = (signal: string) => collector.requests().find(({ path }) => path === `/v1/${signal}`)?.body ?? ""
      assert.include(bodyOf("metrics"), '"name":"berth_test_total"')
      assert.include(bodyOf("metrics"), '"name":"process_resident_memory_bytes"')
      for (const part of [
        '"severityText":"WARN"',
        '"severityNumber":13',
        "Half done",
        "berth.agent_id",
        "agt_1",
        parent.traceId
      ])
        assert.include(bodyOf("logs"), part)
      for (const { headers } of collector.requests())
        assert.containSubset(headers, { "x-team": "a b", authorization: "Basic hunter2" })
    })
  )

  it.scopedLive("Log records have the type and message of their exception, and the trace flags of their span", () =>
    Effect.gen(function* () {
      const collector = yield* makeFakeOtelCollector
      const inTrace = (sampled: boolean) => ({
        parent: Tracer.externalSpan({
          traceId: "0af7651916cd43dd8448eb211c80319c",
          spanId: "b7ad6b7169203331",
          sampled
        })
      })
      yield* Effect.all([
        Effect.withSpan(
          Effect.logError("Call failed", Cause.die(new TypeError("bad Bearer hunter2hunter2"))),
          "sampled",
          inTrace(true)
        ),
        Effect.withSpan(Effect.logWarning("Left out", new RangeError("beside")), "unsampled", inTrace(false)),
        Effect.logInfo("Plain")
      ]).pipe(Effect.provide(exportTo(collector.url, ["traces", "logs"])))
      const body = collector.requests().find(({ path }) => path === "/v1/logs")?.body ?? ""
      const { resourceLogs } = yield* Schema.decode(ExportedLogs)(body)
      const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
      assert.deepStrictEqual(
        records.map(({ attributes, body, flags = 0 }) => [
          body.stringValue,
          flags,
          ...attributes
            .filter(({ key }) => key !== "exception.stacktrace")
            .map(({ key, value }) => `${key} ${value.stringValue}`)
        ]),
        [
          ["Call failed", 1, "exception.type TypeError", "exception.message bad Bearer REDACTED"],
          ["Left out", 0, "exception.type RangeError", "exception.message beside"],
          ["Plain", 0]
        ]
      )
      const [{ attributes } = { attributes: [] }] = records
      const trace = attributes.find(({ key }) => key === "exception.stacktrace")?.value.stringValue
      assert.match(trace ?? "", /^TypeError: bad Bearer REDACTED\n\s+at /)
    })
  )

  it.scopedLive("Metrics are exported with units of UCUM, and with the names and attributes of the conventions", () =>
    Effect.gen(function* () {
      const collector = yield* makeFakeOtelCollector
      const call = { provider: "google", model: { id: "google/gemini-test" }, keyId: undefined } as const
      const clock = yield* Effect.clock
      const time = (method: string, headers: Readonly<Record<string, string>>, route: Option.Option<KnownRoute>) => {
        const timer = new RequestTimer(HttpServerRequest.fromWeb(new Request("http://localhost/", { method, headers })))
        timer.start(clock, clock.unsafeCurrentTimeNanos(), route)
        return timer
      }
      const route = Option.some(makePlainRoute("GET", "/test"))
      yield* Effect.sync(() => {
        measureCall(call, "chat", 250)
        measureCall(call, "chat", 250, "timeout")
        time("GET", {}, route).end(200, false)
        time("GET", { "x-forwarded-proto": "https" }, route).end(503, false)
        time("GET", {}, route).end(200, true)
        time("PROPFIND", {}, Option.none()).end(404, false)
      }).pipe(Effect.provide(exportTo(collector.url, ["metrics"])))
      const body = collector.requests().find(({ path }) => path === "/v1/metrics")?.body ?? ""
      const { resourceMetrics } = yield* Schema.decode(Exported)(body)
      const metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
      const find = (name: string) => metrics.find((metric) => metric.name === name)
      const attributesOf = (name: string) =>
        (find(name)?.histogram?.dataPoints ?? []).map(({ attributes }) =>
          Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))
        )
      const get = { "http.request.method": "GET", "http.route": "/test", "url.scheme": "http" }
      for (const attributes of [
        { ...get, "http.response.status_code": 200 },
        { ...get, "http.response.status_code": 503, "url.scheme": "https", "error.type": "503" },
        { ...get, "http.response.status_code": 200, "error.type": "_OTHER" },
        { "http.request.method": "_OTHER", "http.response.status_code": 404, "url.scheme": "http" }
      ])
        assert.deepInclude(attributesOf("http.server.request.duration"), attributes)
      const [duration] = find("http.server.request.duration")?.histogram?.dataPoints ?? []
      assert.deepStrictEqual(
        duration?.explicitBounds,
        [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
      )
      const chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-test"
      }
      for (const attributes of [chat, { ...chat, "error.type": "timeout" }])
        assert.deepInclude(attributesOf("gen_ai.client.operation.duration"), attributes)
      const [operation] = find("gen_ai.client.operation.duration")?.histogram?.dataPoints ?? []
      assert.deepStrictEqual(
        operation?.explicitBounds,
        [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
      )
      const units = {
        "http.server.request.duration": "s",
        "gen_ai.client.operation.duration": "s",
        process_cpu_seconds_total: "s",
        process_resident_memory_bytes: "By",
        nodejs_eventloop_utilization_ratio: "1"
      }
      for (const [name, unit] of Object.entries(units)) assert.strictEqual(find(name)?.unit, unit, name)
    })
  )

  it("Every metric that docs/operations/telemetry.md names has a unit", () => {
    const page = readFileSync("docs/operations/telemetry.md", "utf8")
    const names = [...page.matchAll(/`((?:berth|http|effect_fiber|process|nodejs)_[a-z\d_]+)`/g)].map(
      ([, name]) => name ?? ""
    )
    const unexported = ["berth_agents", "berth_instances", "berth_outbox_lag_seconds", "berth_outbox_waiting_rows"]
    const without = names.filter((name) => !unexported.includes(name) && findUnit(name) === undefined)
    assert.isAbove(names.length, 30)
    assert.deepStrictEqual(without, [])
  })

  it.scopedLive("Spans of instances are exported by the conventions, with the resource of their owner", () =>
    Effect.gen(function* () {
      const collector = yield* makeFakeOtelCollector
      const span = {
        traceId: "0af7651916cd43dd8448eb211c80319c",
        spanId: "00f067aa0ba902b7",
        parentSpanId: "b7ad6b7169203331",
        startedAt: 1_763_942_400_000_000,
        endedAt: 1_763_942_400_250_000
      } as const
      const spans: ReadonlyArray<RuntimeSpan> = [
        {
          ...span,
          name: "http.server POST",
          kind: "server",
          attributes: [
            ["http.request.method", "POST"],
            ["http.route", "/turns"],
            ["http.response.status_code", 200],
            ["url.full", "http://me:hunter2@localhost/turns?token=hunter2"],
            ["url.query", "token=hunter2"],
            ["service.instance.id", "usr_other"],
            ["user.id", "usr_other"],
            ["db.query.text", "select 1"]
          ],
          exit: { type: "success" }
        },
        {
          ...span,
          name: "Toolbox.call",
          kind: "internal",
          attributes: [],
          exit: { type: "defect", name: "TypeError", message: "with Bearer hunter2hunter2", stack: "at line 1" }
        }
      ]
      yield* Effect.flatMap(RuntimeSpanExporter, (send) => send(UserId.make("usr_1"), spans)).pipe(
        Effect.provide(exportTo(collector.url, ["traces"]))
      )
      const resource = {
        "service.name": "berth-runtime",
        "service.namespace": "berth",
        "service.version": "1.2.3",
        "service.instance.id": "usr_1",
        "berth.role": "runtime",
        "deployment.environment.name": "test"
      }
      const { endedAt: _, startedAt: __, ...ids } = span
      const [request, failed] = collector.spans()
      assert.containSubset(request, { ...ids, resource, name: "POST /turns", kind: "server", isError: false })
      assert.hasAllKeys(request?.attributes, [
        "http.request.method",
        "http.route",
        "http.response.status_code",
        "url.query"
      ])
      assert.containSubset(failed, {
        ...ids,
        resource,
        name: "Toolbox.call",
        isError: true,
        attributes: { "error.type": "TypeError" },
        events: ["exception"]
      })
      assert.notInclude(collector.bodies(), "hunter2")
      assert.containSubset(collector.requests()[0]?.headers, { "x-team": "a b" })
    })
  )

  it.scopedLive("A sampler by environment leaves out traces, and keeps those that a caller samples", () =>
    Effect.gen(function* () {
      vi.stubEnv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
      const collector = yield* makeFakeOtelCollector
      const called = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }
      yield* Effect.all([
        Effect.withSpan(Effect.void, "own", { root: true }),
        Effect.withSpan(Effect.void, "sampled", { parent: Tracer.externalSpan({ ...called, sampled: true }) }),
        Effect.withSpan(Effect.void, "unsampled", { parent: Tracer.externalSpan({ ...called, sampled: false }) })
      ]).pipe(Effect.provide(exportTo(collector.url, ["traces"])))
      vi.stubEnv("OTEL_TRACES_SAMPLER", "")
      assert.deepStrictEqual(
        collector.spans().map(({ name }) => name),
        ["sampled"]
      )
    })
  )

  it.scopedLive("Spans are exported in protobuf when configured, with their attributes and resource", () =>
    Effect.gen(function* () {
      const collector = yield* makeFakeOtelCollector
      collector.answerWith(204)
      yield* Effect.withSpan(Effect.void, "Agents.provision", {
        attributes: { "agent.id": "agt_1", attempts: 3 }
      }).pipe(Effect.provide(exportTo(collector.url, ["traces"], "http/protobuf")))
      const [request] = collector.requests()
      assert.strictEqual(request?.headers["content-type"], "application/x-protobuf")
      const [span] = collector.spans()
      assert.containSubset(span, {
        name: "Agents.provision",
        kind: "internal",
        parentSpanId: undefined,
        isError: false,
        attributes: { "berth.agent.id": "agt_1", "berth.attempts": 3 }
      })
      assert.match(span?.traceId ?? "", /^[0-9a-f]{32}$/)
      assert.isString(span?.resource["service.instance.id"])
    })
  )

  it.scopedLive("A failing export is one warning without credentials until it works again", () =>
    Effect.gen(function* () {
      const collector = yield* makeFakeOtelCollector
      const logs = recordLogs()
      const url = collector.url.replace("//", "//me:hunter2@")
      const warnings = () => logs.lines.filter((line) => line.includes("Telemetry export failed"))
      const sendSpan = (count: number) =>
        Effect.zipRight(
          Effect.withSpan(Effect.void, "Agents.provision"),
          eventually(
            Effect.sync(() => collector.requests().length),
            (sent) => sent >= count
          )
        )
      collector.answerWith(401)
      yield* Effect.gen(function* () {
        yield* sendSpan(1)
        yield* eventually(Effect.sync(warnings), ({ length }) => length === 1)
        yield* sendSpan(2)
        collector.answerWith(200)
        yield* sendSpan(3)
        yield* eventually(
          Effect.sync(() => logs.lines.some((line) => line.includes("Telemetry export works again"))),
          (works) => works
        )
      }).pipe(Effect.provide(Layer.provideMerge(exportTo(url, ["traces"]), logs.layer)))
      const [warning] = warnings()
      assert.lengthOf(warnings(), 1)
      assert.include(warning, `${collector.url}/v1/traces`)
      assert.include(warning, "status 401")
      assert.notInclude(logs.lines.join("\n"), "hunter2")
    })
  )

  it("A failure without a code is described by its message", () => {
    const exporter = {
      export: (_: string, done: (result: { readonly code: number; readonly error: Error }) => void) =>
        done({ code: 1, error: new Error("Request timed out") })
    }
    const reasons: Array<string> = []
    const observed = observeExports(exporter, { failure: (reason) => reasons.push(reason), recovery: () => undefined })
    observed.export("", () => undefined)
    assert.deepStrictEqual(reasons, ["Request timed out"])
  })
})
