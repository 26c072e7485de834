import { Context, Effect, type Scope, Tracer } from "effect"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"
import type { ModelProvider } from "../models/ModelProviders.ts"
import { ProviderFailed } from "../models/ModelErrors.ts"
import type { AiSettings } from "./AiSettings.ts"
import { type ChatMessage, type ChatOptions } from "../chat/ModelChat.ts"
import { describeCallSpan } from "./ModelTelemetry.ts"
import type { TimeoutWatcher } from "../streams/IdleTimeout.ts"
import type { PlannedCall } from "./CallPlan.ts"
import { type ChunkBatch, readNext } from "../streams/ChunkSource.ts"
import { SpanExportEnabled } from "./SpanExport.ts"

export interface CallInput {
  readonly provider: ModelProvider
  readonly call: PlannedCall
  readonly messages: ReadonlyArray<ChatMessage>
  readonly options: ChatOptions
  /** Epoch milliseconds at which the whole answer must be there. */
  readonly deadline: number
}

export interface OpenedCall {
  /** What there is of the answer from its first text or call of a tool on; not empty. */
  readonly first: ReadonlyArray<ModelEvent<ProviderEnding>>
  /** What comes after that; not to be asked for once `end` was there. Not empty either. */
  readonly more: Effect.Effect<ReadonlyArray<ModelEvent<ProviderEnding>>, ProviderFailed>
  /** Ends with the scope; null where no spans are sent. */
  readonly span: Tracer.Span | null
}

const spanOf = ({ call, options }: CallInput) => {
  const described = describeCallSpan(call, options)
  return Effect.makeSpanScoped(described.name, { ...described.options, captureStackTrace: false })
}

const isVisible = (event: ModelEvent<ProviderEnding>) => event.type !== "delta" || event.text !== ""

/**
 * Calls a model once and waits for its first text, so that up to there another can still take over. The scope holds
 * the provider's connection; closing it ends the call. Pieces are asked of the provider no faster than they are taken.
 */
export const openCall = (
  input: CallInput,
  settings: AiSettings,
  watch: TimeoutWatcher
): Effect.Effect<OpenedCall, ProviderFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const span = (yield* SpanExportEnabled) ? yield* spanOf(input) : null
    const failed = (kind: ProviderFailed["kind"], reason: string) =>
      new ProviderFailed({ provider: input.call.provider, kind, reason })
    const timeout = watch.start({
      first: settings.firstByteTimeout,
      next: settings.idleTimeout,
      deadline: input.deadline,
      onTimeout: (reason) => failed("timeout", reason)
    })
    const given = yield* Effect.context<Scope.Scope>()
    const context = span === null ? given : Context.add(given, Tracer.ParentSpan, span)
    const within = Effect.mapInputContext((_: Context.Context<never>) => context)
    const opening = Effect.flatMap(input.provider.chat(input.call.model.id, input.messages, input.options), (source) =>
      Effect.map(readNext(source), (batch) => ({ source, batch }))
    )
    const { batch, source } = yield* timeout.apply(within(opening))
    let first: ChunkBatch<ModelEvent<ProviderEnding>, ProviderFailed> | null = batch
    const more = timeout.apply(within(source.awaitMore))
    const next: Effect.Effect<ReadonlyArray<ModelEvent<ProviderEnding>>, ProviderFailed> = Effect.suspend(() => {
      let taken = first ?? source.poll()
      first = null
      for (; taken !== null; taken = source.poll()) {
        const visible = taken.values.filter(isVisible)
        if (visible.length > 0) return Effect.succeed(visible)
        if (taken.isDone) return Effect.fail(taken.failure ?? failed("nonsense", "the answer has no end"))
      }
      return Effect.flatMap(more, () => next)
    })
    return { span, first: yield* next, more: next }
  })
