import { Context, Effect, type Scope, Tracer } from "effect"
import type { AiSettings } from "./AiSettings.ts"
import {
  type ChatChunk,
  type ChatMessage,
  type ChatOptions,
  type ModelProvider,
  ProviderFailed
} from "../chat/ModelChat.ts"
import { describeCallSpan } from "./ModelTelemetry.ts"
import type { TimeoutWatcher } from "../streams/IdleTimeout.ts"
import type { PlannedCall } from "./CallPlan.ts"
import { openAnswerSource } from "../streams/ChunkSource.ts"
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
  readonly first: ReadonlyArray<ChatChunk>
  /** What comes after that; not to be asked for once `end` was there. Not empty either. */
  readonly more: Effect.Effect<ReadonlyArray<ChatChunk>, ProviderFailed>
  /** Ends with the scope; null where no spans are sent. */
  readonly span: Tracer.Span | null
}

const spanOf = ({ call, options }: CallInput) => {
  const described = describeCallSpan(call, options)
  return Effect.makeSpanScoped(described.name, { ...described.options, captureStackTrace: false })
}

const isVisible = (chunk: ChatChunk) => chunk.type !== "text" || chunk.text !== ""

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
    const patience = watch.start({
      first: settings.firstByteTimeout,
      next: settings.idleTimeout,
      deadline: input.deadline,
      onTimeout: (reason) => failed("timeout", reason)
    })
    const given = yield* Effect.context<Scope.Scope>()
    const context = span === null ? given : Context.add(given, Tracer.ParentSpan, span)
    const within = Effect.mapInputContext((_: Context.Context<never>) => context)
    const pull = yield* within(
      openAnswerSource(input.provider.chat(input.call.model.id, input.messages, input.options))
    )
    const come = patience.apply(within(pull.awaitMore))
    const next: Effect.Effect<ReadonlyArray<ChatChunk>, ProviderFailed> = Effect.suspend(() => {
      for (let taken = pull.poll(); taken !== null; taken = pull.poll()) {
        const visible = taken.values.filter(isVisible)
        if (visible.length > 0) return Effect.succeed(visible)
        if (taken.isDone) return Effect.fail(taken.failure ?? failed("nonsense", "the answer has no end"))
      }
      return Effect.flatMap(come, () => next)
    })
    return { span, first: yield* next, more: next }
  })
