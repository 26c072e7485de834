import * as EffectMetrics from "@effect/opentelemetry/Metrics"
import { Resource } from "@effect/opentelemetry/Resource"
import { ROOT_CONTEXT, trace } from "@opentelemetry/api"
import { SeverityNumber } from "@opentelemetry/api-logs"
import { OTLPLogExporter as JsonLogExporter } from "@opentelemetry/exporter-logs-otlp-http"
import { OTLPLogExporter as ProtobufLogExporter } from "@opentelemetry/exporter-logs-otlp-proto"
import { OTLPMetricExporter as JsonMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http"
import { OTLPMetricExporter as ProtobufMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto"
import { OTLPTraceExporter as JsonTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { OTLPTraceExporter as ProtobufTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources"
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs"
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import { BasicTracerProvider, BatchSpanProcessor, type ReadableSpan } from "@opentelemetry/sdk-trace-base"
import { RuntimeSpanExporter } from "@berth/domain/instances/RuntimeSpans"
import { findCause, findSpan, structuredLogger } from "@berth/domain/shared/LogLine"
import type { UserId } from "@berth/domain/shared/UserId"
import { Cause, Effect, Layer, Logger, type LogLevel, Option, Runtime } from "effect"
import type { SignalExport, TelemetrySettings } from "../configuration/TelemetrySettings.ts"
import { observeExports, toPublicAddress } from "./ExportFailures.ts"
import { toConventionalMetrics } from "./MetricConventions.ts"
import { noExporter } from "./NoExporter.ts"
import { makeOtelTracer, toSpanContext } from "./OtelTracer.ts"
import { sampleProcess } from "./ProcessMetrics.ts"
import { toReadableSpan } from "./RelayedSpans.ts"
import { makeRelayQueue } from "./RelayQueue.ts"
import { describeException, nameAttribute, toAttributeValue } from "./SpanConventions.ts"

/* Export by the OpenTelemetry SDK. Loaded only by processes that export. */

/** Time for the last export at the end of a process. */
const flushTimeout = "3 seconds"

/** Limits as in the SDK: waiting spans of instances, spans of a batch, and the time until a smaller batch. */
const maximumRelayedSpans = 2048
const relayBatchSize = 512
const relayInterval = "5 seconds"

const scopeName = "berth"

/** Ends with a last export, within a time limit. */
const endWith = (provider: { readonly forceFlush: () => Promise<void>; readonly shutdown: () => Promise<void> }) =>
  Effect.addFinalizer(() =>
    Effect.tryPromise(() => provider.forceFlush()).pipe(
      Effect.ignore,
      Effect.zipRight(Effect.ignore(Effect.tryPromise(() => provider.shutdown()))),
      Effect.interruptible,
      Effect.timeoutOption(flushTimeout)
    )
  )

/** Keys of a log line that are fields of a record. */
const lineKeys = new Set(["timestamp", "level", "message", "trace_id", "span_id"])

const severities: { readonly [tag in LogLevel.LogLevel["_tag"]]: SeverityNumber } = {
  All: SeverityNumber.TRACE,
  Trace: SeverityNumber.TRACE,
  Debug: SeverityNumber.DEBUG,
  Info: SeverityNumber.INFO,
  Warning: SeverityNumber.WARN,
  Error: SeverityNumber.ERROR,
  Fatal: SeverityNumber.FATAL,
  None: SeverityNumber.UNSPECIFIED
}

export interface ExportedResource {
  readonly serviceName: string
  readonly serviceVersion: string
  readonly serviceInstanceId: string
  readonly role: string
}

const makeResource = (
  { role, serviceInstanceId, serviceName, serviceVersion }: ExportedResource,
  attributes: TelemetrySettings["resourceAttributes"]
) =>
  defaultResource().merge(
    resourceFromAttributes({
      "service.namespace": "berth",
      "service.version": serviceVersion,
      "service.instance.id": serviceInstanceId,
      "berth.role": role,
      ...attributes,
      "service.name": serviceName
    })
  )

export const layer = (settings: TelemetrySettings, identity: ExportedResource) => {
  const { metricIntervalMillis, resourceAttributes, signals } = settings
  const { serviceVersion } = identity
  const resource = makeResource(identity, resourceAttributes)
  const instrumentationScope = { name: scopeName, version: serviceVersion }
  const ofInstance = (owner: UserId): ExportedResource => ({
    serviceName: "berth-runtime",
    serviceVersion,
    serviceInstanceId: owner,
    role: "runtime"
  })

  const makeObserver = (signal: string, { url }: SignalExport) =>
    Effect.map(Effect.runtime<never>(), (runtime) => {
      const log = (line: Effect.Effect<void>, annotations: Record<string, string>) => {
        Runtime.runFork(runtime)(Effect.annotateLogs(line, { signal, address: toPublicAddress(url), ...annotations }))
      }
      return {
        failure: (reason: string) => log(Effect.logWarning("Telemetry export failed"), { reason }),
        recovery: () => log(Effect.logInfo("Telemetry export works again"), {})
      }
    })

  const traces = (signal: SignalExport) =>
    Layer.unwrapScoped(
      Effect.gen(function* () {
        const Exporter = signal.protocol === "http/json" ? JsonTraceExporter : ProtobufTraceExporter
        const observed = observeExports(new Exporter({ url: signal.url }), yield* makeObserver("traces", signal))
        const provider = new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(observed)] })
        yield* endWith(provider)
        const relayed = makeRelayQueue<UserId, ReadableSpan>(maximumRelayedSpans)
        const isBatchFull = Effect.unsafeMakeLatch()
        const exportBatch = Effect.async<void>((resume) => {
          observed.export([...relayed.take(relayBatchSize)], () => resume(Effect.void))
        })
        const exportRelayed = Effect.zipRight(
          isBatchFull.close,
          Effect.whileLoop({ while: () => relayed.size() > 0, body: () => exportBatch, step: () => undefined })
        )
        // Before the last export of the provider, which closes the exporter.
        yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(exportRelayed), flushTimeout))
        yield* Effect.sleep(relayInterval).pipe(
          Effect.raceFirst(isBatchFull.await),
          Effect.zipRight(exportRelayed),
          Effect.forever,
          Effect.forkScoped
        )
        const relay = Layer.succeed(RuntimeSpanExporter, (owner, spans) =>
          Effect.suspend(() => {
            const from = { resource: makeResource(ofInstance(owner), resourceAttributes), instrumentationScope }
            for (const span of spans) relayed.add(owner, toReadableSpan(span, from))
            return relayed.size() < relayBatchSize ? Effect.void : Effect.asVoid(isBatchFull.open)
          })
        )
        return Layer.merge(relay, Layer.setTracer(makeOtelTracer(provider.getTracer(scopeName, serviceVersion))))
      })
    )

  const metrics = (signal: SignalExport) =>
    Layer.scopedDiscard(
      Effect.gen(function* () {
        const Exporter = signal.protocol === "http/json" ? JsonMetricExporter : ProtobufMetricExporter
        const observed = observeExports(new Exporter({ url: signal.url }), yield* makeObserver("metrics", signal))
        const producer = yield* EffectMetrics.makeProducer
        const reader = new PeriodicExportingMetricReader({
          exporter: observed,
          exportIntervalMillis: metricIntervalMillis,
          exportTimeoutMillis: Math.min(metricIntervalMillis, 30_000)
        })
        reader.setMetricProducer({
          collect: (options) => {
            sampleProcess()
            return producer.collect(options).then(toConventionalMetrics)
          }
        })
        yield* endWith({ forceFlush: () => reader.forceFlush(), shutdown: () => reader.shutdown() })
      })
    ).pipe(Layer.provide(Layer.succeed(Resource, resource)))

  const logs = (signal: SignalExport) =>
    Logger.addScoped(
      Effect.gen(function* () {
        const Exporter = signal.protocol === "http/json" ? JsonLogExporter : ProtobufLogExporter
        const observed = observeExports(new Exporter({ url: signal.url }), yield* makeObserver("logs", signal))
        const provider = new LoggerProvider({
          resource,
          processors: [new BatchLogRecordProcessor({ exporter: observed })]
        })
        yield* endWith(provider)
        const logger = provider.getLogger(scopeName, serviceVersion)
        return Logger.make<unknown, void>((options) => {
          const line = structuredLogger.log(options)
          const attributes: Record<string, string | number | boolean | Array<string>> = {}
          for (const [key, value] of Object.entries(line)) {
            if (lineKeys.has(key)) continue
            const attribute = toAttributeValue(value)
            attributes[key === "cause" ? "exception.stacktrace" : nameAttribute(key)] =
              typeof attribute === "object" ? [...attribute] : attribute
          }
          const cause = findCause(options)
          if (!Cause.isEmpty(cause)) {
            const { message, type } = describeException(Cause.squash(cause))
            attributes["exception.type"] = type
            if (message !== "") attributes["exception.message"] = message
          }
          const span = findSpan(options)
          logger.emit({
            timestamp: options.date,
            severityNumber: severities[options.logLevel._tag],
            severityText: options.logLevel.label,
            body: line.message,
            attributes,
            context: span === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, toSpanContext(span))
          })
        })
      })
    )

  return Layer.mergeAll(
    Option.match(signals.traces, { onNone: () => noExporter, onSome: traces }),
    Option.match(signals.metrics, { onNone: () => Layer.empty, onSome: metrics }),
    Option.match(signals.logs, { onNone: () => Layer.empty, onSome: logs }),
    // Log records are a separate signal, so spans do not repeat them.
    Logger.remove(Logger.tracerLogger)
  )
}
