import { makeEnvironmentProvider } from "@berth/infra/configuration/EnvironmentProvider"
import { telemetrySettings } from "@berth/infra/configuration/TelemetrySettings"
import { assert, it } from "@effect/vitest"
import { Effect, Option, Record } from "effect"

const read = (environment: Readonly<Record<string, string>>) =>
  Effect.withConfigProvider(telemetrySettings, makeEnvironmentProvider(environment))

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/otlp/" }
const json = (url: string) => ({ protocol: "http/json", url })
const allAt = (base: string) => ({
  traces: json(`${base}/v1/traces`),
  metrics: json(`${base}/v1/metrics`),
  logs: json(`${base}/v1/logs`)
})

const cases: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, object]> = [
  ["Nothing is exported without an endpoint", {}, {}],
  ["Every signal is exported to the endpoint in JSON", endpoint, allAt("http://collector:4318/otlp")],
  ["OTEL_SDK_DISABLED ends every export", { ...endpoint, OTEL_SDK_DISABLED: "TRUE" }, {}],
  [
    "An exporter none excludes its signal",
    { ...endpoint, OTEL_TRACES_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none" },
    { metrics: json("http://collector:4318/otlp/v1/metrics") }
  ],
  [
    "An exporter otlp without an endpoint uses the standard one",
    { OTEL_TRACES_EXPORTER: "otlp" },
    { traces: json("http://localhost:4318/v1/traces") }
  ],
  [
    "A signal's own endpoint is used as it is",
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces:1/in" },
    { traces: json("http://traces:1/in") }
  ],
  [
    "A signal's own protocol takes precedence",
    {
      ...endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
      OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "http/json",
      OTEL_METRICS_EXPORTER: "none"
    },
    {
      traces: { protocol: "http/protobuf", url: "http://collector:4318/otlp/v1/traces" },
      logs: json("http://collector:4318/otlp/v1/logs")
    }
  ]
]

for (const [title, environment, expected] of cases)
  it.effect(title, () =>
    Effect.gen(function* () {
      const { signals } = yield* read(environment)
      assert.deepStrictEqual(Record.getSomes(signals), expected)
    })
  )

it.effect("Resource attributes are percent-decoded, and name the service unless OTEL_SERVICE_NAME does", () =>
  Effect.gen(function* () {
    const attributes = { OTEL_RESOURCE_ATTRIBUTES: "service.name=berth%2Ceu, deployment.environment.name=a%3Db," }
    const read1 = yield* read(attributes)
    assert.deepStrictEqual(read1.resourceAttributes, {
      "service.name": "berth,eu",
      "deployment.environment.name": "a=b"
    })
    assert.deepStrictEqual(read1.serviceName, Option.some("berth,eu"))
    const named = yield* read({ ...attributes, OTEL_SERVICE_NAME: "other" })
    assert.deepStrictEqual(named.serviceName, Option.some("other"))
  })
)
