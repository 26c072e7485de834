import { type Clock, Effect, type Exit, type Tracer } from "effect"
import type { ChatMessage, ChatOptions } from "../chat/ModelChat.ts"
import { ProviderFailed } from "../models/ModelErrors.ts"
import type { ModelProvider } from "../models/ModelProviders.ts"
import type { IdleTimeouts } from "../streams/IdleTimeout.ts"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"
import type { AiSettings } from "./AiSettings.ts"
import type { PlannedCall } from "./CallPlan.ts"
import { describeCallSpan } from "./ModelTelemetry.ts"
import { areSpansExported } from "../../shared/SpanExport.ts"

export interface CallEnvironment {
  readonly clock: Clock.Clock
  readonly settings: AiSettings["Type"]
  readonly timeouts: IdleTimeouts
}

export interface CallInput {
  readonly provider: ModelProvider
  readonly call: PlannedCall
  readonly messages: ReadonlyArray<ChatMessage>
  readonly options: ChatOptions
  /** Epoch milliseconds of the timeout of the whole answer. */
  readonly deadline: number
}

export interface OpenedCall {
  /** Epoch milliseconds. */
  readonly calledAt: number
  /** Reads the next events, first all up to the first text or tool call; not empty. Must not run after `done`. */
  readonly next: Effect.Effect<ReadonlyArray<ModelEvent<ProviderEnding>>, ProviderFailed>
  /** Null where no spans are exported. */
  readonly span: Tracer.Span | null
  /** Ends the call and its span. */
  readonly close: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

const openSpan = ({ call, options }: CallInput) => {
  const described = describeCallSpan(call, options)
  return Effect.makeSpan(described.name, { ...described.options, captureStackTrace: false })
}

/** Maximum characters of an answer; bounds its memory. */
const maximumAnswerLength = 16 * 1024 * 1024

const lengthOf = (event: ModelEvent<ProviderEnding>) => {
  if (event.type === "delta") return event.text.length
  return event.type === "tool-call" ? event.call.arguments.length : 0
}

const isVisible = (event: ModelEvent<ProviderEnding>) => event.type !== "delta" || event.text !== ""

/** Calls a model once, without waiting for its answer. Until the first text a fallback is possible. */
export const openCall = (
  input: CallInput,
  { clock, settings, timeouts }: CallEnvironment
): Effect.Effect<OpenedCall> => {
  const { call, deadline, messages, options, provider } = input
  const fail = (kind: ProviderFailed["kind"], reason: string) =>
    new ProviderFailed({ provider: call.provider, kind, reason })
  const limits = {
    first: settings.firstByteTimeout,
    next: settings.idleTimeout,
    deadline,
    onTimeout: (reason: string) => fail("timeout", reason)
  }
  const read = (
    answer: Effect.Effect.Success<ReturnType<ModelProvider["chat"]>>,
    calledAt: number,
    span: Tracer.Span | null
  ): OpenedCall => {
    const { awaitMore, end, poll } = timeouts.limit(answer, limits)
    let length = 0
    const next: OpenedCall["next"] = Effect.suspend(() => {
      for (let batch = poll(); batch !== null; batch = poll()) {
        const visible = batch.values.filter(isVisible)
        length = visible.reduce((sum, event) => sum + lengthOf(event), length)
        if (length > maximumAnswerLength) return Effect.fail(fail("nonsense", "the answer is too long"))
        if (visible.length > 0) return Effect.succeed(visible)
        if (batch.isDone) return Effect.fail(batch.failure ?? fail("nonsense", "the answer has no end"))
      }
      return Effect.flatMap(awaitMore, () => next)
    })
    const close: OpenedCall["close"] = (exit) => {
      end()
      span?.end(clock.unsafeCurrentTimeNanos(), exit)
      return answer.close
    }
    return { calledAt, next, span, close }
  }
  return Effect.flatMap(areSpansExported, (areExported) => {
    const calledAt = clock.unsafeCurrentTimeMillis()
    const chat = provider.chat(call.model.id, messages, options)
    return areExported
      ? Effect.flatMap(openSpan(input), (span) =>
          Effect.map(Effect.withParentSpan(chat, span), (answer) => read(answer, calledAt, span))
        )
      : Effect.map(chat, (answer) => read(answer, calledAt, null))
  })
}
