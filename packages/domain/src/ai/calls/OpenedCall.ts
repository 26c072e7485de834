import { Effect, Scope, type Tracer } from "effect"
import type { ChatMessage, ChatOptions } from "../chat/ModelChat.ts"
import { ProviderFailed } from "../models/ModelErrors.ts"
import type { ModelProvider } from "../models/ModelProviders.ts"
import { type ChunkBatch, readNext } from "../streams/ChunkSource.ts"
import type { IdleTimeouts } from "../streams/IdleTimeout.ts"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"
import type { AiSettings } from "./AiSettings.ts"
import type { PlannedCall } from "./CallPlan.ts"
import { describeCallSpan } from "./ModelTelemetry.ts"
import { areSpansExported } from "../../shared/SpanExport.ts"

export interface CallInput {
  readonly provider: ModelProvider
  readonly call: PlannedCall
  readonly messages: ReadonlyArray<ChatMessage>
  readonly options: ChatOptions
  /** Epoch milliseconds of the timeout of the whole answer. */
  readonly deadline: number
}

export interface OpenedCall {
  /** All events up to the first text or tool call; not empty. */
  readonly first: ReadonlyArray<ModelEvent<ProviderEnding>>
  /** Reads the next events; not empty. Must not run after `done`. */
  readonly more: Effect.Effect<ReadonlyArray<ModelEvent<ProviderEnding>>, ProviderFailed>
  /** Ends with the scope; null where no spans are exported. */
  readonly span: Tracer.Span | null
}

const makeCallSpan = ({ call, options }: CallInput) => {
  const described = describeCallSpan(call, options)
  return Effect.makeSpanScoped(described.name, { ...described.options, captureStackTrace: false })
}

/** Maximum characters of an answer; bounds its memory. */
const maximumAnswerLength = 16 * 1024 * 1024

const lengthOf = (event: ModelEvent<ProviderEnding>) => {
  if (event.type === "delta") return event.text.length
  return event.type === "tool-call" ? event.call.arguments.length : 0
}

const isVisible = (event: ModelEvent<ProviderEnding>) => event.type !== "delta" || event.text !== ""

/**
 * Calls a model once and waits for its first text; until then a fallback is possible. Closing `scope` ends the call.
 */
export const openCall = (
  input: CallInput,
  settings: AiSettings["Type"],
  timeouts: IdleTimeouts,
  scope: Scope.Scope
): Effect.Effect<OpenedCall, ProviderFailed> =>
  Effect.gen(function* () {
    const span = (yield* areSpansExported) ? yield* Scope.extend(makeCallSpan(input), scope) : null
    const fail = (kind: ProviderFailed["kind"], reason: string) =>
      new ProviderFailed({ provider: input.call.provider, kind, reason })
    const timeout = yield* timeouts.start(
      {
        first: settings.firstByteTimeout,
        next: settings.idleTimeout,
        deadline: input.deadline,
        onTimeout: (reason) => fail("timeout", reason)
      },
      scope
    )
    const opening = Effect.flatMap(input.provider.chat(input.call.model.id, input.messages, input.options), (source) =>
      Effect.map(readNext(source), (batch) => ({ source, batch }))
    )
    const { batch, source } = yield* timeout.open(span === null ? opening : Effect.withParentSpan(opening, span))
    let opened: ChunkBatch<ModelEvent<ProviderEnding>, ProviderFailed> | null = batch
    let length = 0
    const { awaitMore, poll } = timeout.limit(source)
    const next: Effect.Effect<ReadonlyArray<ModelEvent<ProviderEnding>>, ProviderFailed> = Effect.suspend(() => {
      let given = opened ?? poll()
      opened = null
      for (; given !== null; given = poll()) {
        const visible = given.values.filter(isVisible)
        length = visible.reduce((sum, event) => sum + lengthOf(event), length)
        if (length > maximumAnswerLength) return Effect.fail(fail("nonsense", "the answer is too long"))
        if (visible.length > 0) return Effect.succeed(visible)
        if (given.isDone) return Effect.fail(given.failure ?? fail("nonsense", "the answer has no end"))
      }
      return Effect.flatMap(awaitMore, () => next)
    })
    return { span, first: yield* next, more: next }
  })
