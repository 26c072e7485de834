import { RuntimeSpanBatch, runtimeSpansPath } from "@berth/api/runtime/RuntimeContract"
import { postForStream } from "@berth/api/runtime/RuntimeExchange"
import {
  maximumBatchSpans,
  maximumSpanAttributes,
  maximumSpanName,
  maximumSpanText,
  type RuntimeSpan
} from "@berth/domain/instances/RuntimeSpans"
import { Cause, type Context, Effect, Exit, Layer, Option, Redacted, Schema, Tracer } from "effect"
import { randomBytes } from "node:crypto"
import type { BackendAccess } from "../Backend.ts"

/** Maximum waiting spans; further spans are dropped until the backend accepts some. */
const maximumWaitingSpans = 1024
const batchInterval = "1 second"
const relayTimeout = "5 seconds"
const lastRelayTimeout = "1 second"

const makeId = (bytes: 8 | 16) => randomBytes(bytes).toString("hex")

const describeExit = (exit: Exit.Exit<unknown, unknown>): RuntimeSpan["exit"] => {
  if (Exit.isSuccess(exit)) return { type: "success" }
  const { cause } = exit
  if (Cause.isEmpty(cause) || Cause.isInterruptedOnly(cause)) return { type: "interruption" }
  const error = Cause.squash(cause)
  const tag = typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined
  const thrown = error instanceof Error ? error : new Error(String(error))
  return {
    type: Option.isSome(Cause.dieOption(cause)) ? "defect" : "failure",
    name: (typeof tag === "string" ? tag : thrown.name).slice(0, maximumSpanName),
    message: thrown.message.slice(0, maximumSpanText),
    stack: (thrown.stack ?? "").slice(0, maximumSpanText)
  }
}

const toAttribute = (value: unknown): RuntimeSpan["attributes"][number][1] => {
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) return value
  if (Array.isArray(value))
    return value.slice(0, maximumSpanAttributes).map((one) => String(one).slice(0, maximumSpanText))
  return String(value).slice(0, maximumSpanText)
}

/** Headers contain the runtime token. */
const isRelayed = ([key, value]: readonly [string, unknown]) => value !== undefined && !key.includes(".header.")

/** Recorded only if the caller records the trace. */
class RelayedSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly traceId: string
  /** Of the parent if the span is not recorded, so that no random bytes are made. */
  readonly spanId: string
  readonly sampled: boolean
  readonly attributes = new Map<string, unknown>()
  readonly links: ReadonlyArray<Tracer.SpanLink> = []
  status: Tracer.SpanStatus

  constructor(
    readonly name: string,
    readonly parent: Option.Option<Tracer.AnySpan>,
    readonly context: Context.Context<never>,
    startTime: bigint,
    readonly kind: Tracer.SpanKind,
    readonly record: (span: RuntimeSpan) => void
  ) {
    this.status = { _tag: "Started", startTime }
    this.traceId = Option.isSome(parent) ? parent.value.traceId : makeId(16)
    this.sampled = Option.isSome(parent) && parent.value.sampled
    this.spanId = Option.isSome(parent) && !this.sampled ? parent.value.spanId : makeId(8)
  }

  attribute(key: string, value: unknown): void {
    if (this.sampled) this.attributes.set(key, value)
  }

  event(): void {}
  addLinks(): void {}

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    const { startTime } = this.status
    this.status = { _tag: "Ended", startTime, endTime, exit }
    if (!this.sampled || Option.isNone(this.parent)) return
    this.record({
      traceId: this.traceId,
      spanId: this.spanId,
      parentSpanId: this.parent.value.spanId,
      name: this.name.slice(0, maximumSpanName),
      kind: this.kind,
      startedAt: Number(startTime / 1000n),
      endedAt: Number(endTime / 1000n),
      attributes: [...this.attributes]
        .filter(isRelayed)
        .slice(0, maximumSpanAttributes)
        .map(([key, value]) => [key.slice(0, maximumSpanName), toAttribute(value)] as const),
      exit: describeExit(exit)
    })
  }
}

const encodeBatch = Schema.encodeSync(Schema.parseJson(RuntimeSpanBatch))

/** Relays spans of recorded traces through the backend; otherwise idle. */
export const layer = ({ backendUrl, token }: BackendAccess) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const waiting: Array<RuntimeSpan> = []
      const isWaiting = Effect.unsafeMakeLatch(false)
      const record = (span: RuntimeSpan) => {
        if (waiting.length < maximumWaitingSpans) waiting.push(span)
        isWaiting.unsafeOpen()
      }
      const tracer = Tracer.make({
        span: (name, parent, context, _links, startTime, kind) =>
          new RelayedSpan(name, parent, context, startTime, kind, record),
        context: (evaluate) => evaluate()
      })
      const relayBatch = Effect.suspend(() =>
        postForStream({
          url: new URL(runtimeSpansPath, backendUrl),
          headers: { authorization: `Bearer ${Redacted.value(token)}` },
          body: encodeBatch({ spans: waiting.splice(0, maximumBatchSpans) })
        })
      ).pipe(
        Effect.scoped,
        Effect.timeout(relayTimeout),
        // The relay has no caller, so its own span is not recorded.
        Effect.withTracer(tracer),
        Effect.catchAll((error) => Effect.logDebug("Spans not relayed", error))
      )
      const relayAll = Effect.whileLoop({
        while: () => waiting.length > 0,
        body: () => relayBatch,
        step: () => undefined
      })
      yield* Effect.addFinalizer(() =>
        relayAll.pipe(Effect.interruptible, Effect.timeoutOption(lastRelayTimeout), Effect.asVoid)
      )
      yield* isWaiting.await.pipe(
        Effect.zipRight(Effect.sleep(batchInterval)),
        Effect.zipRight(isWaiting.close),
        Effect.zipRight(relayAll),
        Effect.forever,
        Effect.forkScoped
      )
      return Layer.setTracer(tracer)
    })
  )
