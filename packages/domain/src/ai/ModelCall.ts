import { Chunk, Context, Effect, Option, type Scope, Stream, Tracer } from "effect"
import type { AiSettings } from "./AiSettings.ts"
import { type ChatChunk, type ChatMessage, type ChatOptions, type ModelProvider, ProviderFailed } from "./ModelChat.ts"
import { callSpan } from "./ModelTelemetry.ts"
import { makePatience } from "./Patience.ts"
import type { PlannedCall } from "./PlanCalls.ts"

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
  readonly first: Chunk.Chunk<ChatChunk>
  /** What comes after that; not to be asked for once `end` was there. Not empty either. */
  readonly more: Effect.Effect<Chunk.Chunk<ChatChunk>, ProviderFailed>
  /** Ends with the scope. */
  readonly span: Tracer.Span
}

const isVisible = (chunk: ChatChunk) => chunk.type !== "text" || chunk.text !== ""

/**
 * Calls a model once and waits for its first text, so that up to there another can still take over. The scope holds
 * the provider's connection; closing it ends the call. Pieces are asked of the provider no faster than they are taken.
 */
export const openCall = (
  input: CallInput,
  settings: AiSettings
): Effect.Effect<OpenedCall, ProviderFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const described = callSpan(input.call, input.options)
    const span = yield* Effect.makeSpanScoped(described.name, described.options)
    const failed = (kind: ProviderFailed["kind"], reason: string) =>
      new ProviderFailed({ provider: input.call.provider, kind, reason })
    const patience = yield* makePatience({
      first: settings.firstByteTimeout,
      next: settings.idleTimeout,
      deadline: input.deadline,
      expired: (reason) => failed("timeout", reason)
    })
    // Made once: for each piece it would be copied anew.
    const context = Context.add(yield* Effect.context<never>(), Tracer.ParentSpan, span)
    const pull = yield* Stream.toPull(input.provider.chat(input.call.model.id, input.messages, input.options)).pipe(
      Effect.mapInputContext((given: Context.Context<Scope.Scope>) => Context.merge(given, context))
    )
    const piece = pull.pipe(
      Effect.mapError(Option.getOrElse(() => failed("nonsense", "the answer has no end"))),
      Effect.provide(context),
      patience.within
    )
    const untilVisible: Effect.Effect<Chunk.Chunk<ChatChunk>, ProviderFailed> = Effect.flatMap(piece, (chunk) => {
      const visible = Chunk.filter(chunk, isVisible)
      return Chunk.isEmpty(visible) ? untilVisible : Effect.succeed(visible)
    })
    return { span, first: yield* untilVisible, more: untilVisible }
  })
