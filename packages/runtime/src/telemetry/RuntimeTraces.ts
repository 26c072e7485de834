import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import { Layer, Option } from "effect"

export interface RuntimeTracesOptions {
  /** Base address of an OTLP/HTTP collector. */
  readonly endpoint: Option.Option<URL>
  readonly serviceName: string
  readonly serviceVersion: string
}

/** Exports spans to a collector; without one they only propagate the trace. */
export const layer = ({ endpoint, serviceName, serviceVersion }: RuntimeTracesOptions) =>
  Option.match(endpoint, {
    onNone: () => Layer.empty,
    onSome: (base) =>
      OtlpTracer.layer({
        url: `${base.href.replace(/\/+$/, "")}/v1/traces`,
        resource: { serviceName, serviceVersion }
      }).pipe(Layer.provide(OtlpSerialization.layerJson))
  })
