import { Cause, Effect, Either, Exit, Option } from "effect"
import type { ProviderName } from "../models/Model.ts"
import type { CallAttempt } from "./ChatRequest.ts"
import type { ModelProvider } from "../models/ModelProviders.ts"
import { findAnswerLimit } from "../models/ModelCost.ts"
import { ProviderFailed } from "../models/ModelErrors.ts"
import type { AnswerMeter, SentCall } from "./AnswerMeter.ts"
import type { CircuitBreakers } from "./CircuitBreakers.ts"
import type { ProviderActivities } from "./ProviderActivities.ts"
import { type CallEnvironment, type CallInput, type OpenedCall, openCall } from "./OpenedCall.ts"
import { countCall, measureCall, measureFirstText } from "./ModelTelemetry.ts"
import type { PlannedCall } from "./CallPlan.ts"
import { type Restore, retryCall } from "./CallRetry.ts"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"

interface AnsweredCall extends SentCall, OpenedCall {
  readonly attempts: ReadonlyArray<CallAttempt>
  /** All events up to the first text or tool call; not empty. */
  readonly first: ReadonlyArray<ModelEvent<ProviderEnding>>
  readonly meter: AnswerMeter
}

interface CallsContext extends CallEnvironment {
  readonly breakers: CircuitBreakers
  readonly activities: ProviderActivities
  readonly providers: ReadonlyMap<ProviderName, ModelProvider>
  readonly meter: (sent: SentCall) => AnswerMeter
  /** Records a call that was interrupted before its first text. */
  readonly recordAbandoned: (sent: SentCall) => Effect.Effect<void>
  readonly restore: Restore
}

type CallContext = Omit<CallsContext, "breakers" | "providers">
type CallsRequest = Pick<CallInput, "messages" | "options" | "deadline">

/** Runs one attempt, which stays open for an answer. Every sent request is metered. */
const tryOnce = (input: CallInput, context: CallContext) =>
  Effect.flatMap(openCall(input, context), (opened) => {
    const { activities, clock, meter, recordAbandoned, restore } = context
    const { call } = input
    const { calledAt } = opened
    return Effect.matchCauseEffect(restore(opened.next), {
      onFailure: (cause) => {
        const failure = Cause.failureOption(cause)
        if (Option.isSome(failure)) {
          const { kind } = failure.value
          measureCall(call, "chat", clock.unsafeCurrentTimeMillis() - calledAt, kind)
          opened.span?.attribute("error.type", kind)
        }
        return (Cause.isInterruptedOnly(cause) ? recordAbandoned({ call, calledAt, span: null }) : Effect.void).pipe(
          Effect.flatMap(() => opened.close(Exit.failCause(cause))),
          Effect.zipRight(Effect.failCause(cause))
        )
      },
      onSuccess: (first) => {
        const now = clock.unsafeCurrentTimeMillis()
        measureFirstText(call, now - calledAt)
        activities.recordSuccess(call, now - calledAt, now)
        return Effect.succeed({ call, first, meter: meter({ call, calledAt, span: opened.span }), ...opened })
      }
    })
  })

const withAnswerLimit = (request: CallsRequest, { model }: PlannedCall): CallsRequest => ({
  ...request,
  options: { ...request.options, maxTokens: findAnswerLimit(model, request.options.maxTokens) }
})

// Callers receive the kind of a failure; the provider's message is for operators only.
const logFailure = (
  message: string,
  call: PlannedCall,
  failure: ProviderFailed,
  { activities, clock }: Pick<CallContext, "activities" | "clock">
) =>
  Effect.logWarning(message).pipe(
    Effect.annotateLogs({
      model: call.model.id,
      provider: call.provider,
      kind: failure.kind,
      reason: failure.reason,
      ownKey: call.keyId !== undefined
    }),
    Effect.zipRight(Effect.sync(() => activities.recordFailure(call, failure, clock.unsafeCurrentTimeMillis())))
  )

export const markOwnKeyFailure = ({ kind, provider, reason, retryAfter }: ProviderFailed) =>
  new ProviderFailed({ provider, kind, reason, retryAfter, ownKey: true })

/** Returns the failure of the requested model; its reason lists the other attempts. */
const summarizeFailures = (
  failures: ReadonlyArray<PlannedCall & { readonly failure: ProviderFailed }>
): ProviderFailed | null => {
  const [first, ...others] = failures
  if (first === undefined) return null
  const tried = others.map(({ failure, model }) => `${model.id} at ${failure.provider}: ${failure.kind}`)
  return new ProviderFailed({
    provider: first.failure.provider,
    kind: first.failure.kind,
    retryAfter: first.failure.retryAfter,
    ownKey: first.failure.ownKey,
    reason: tried.length === 0 ? first.failure.reason : `${first.failure.reason} (then ${tried.join(", ")})`
  })
}

/**
 * Calls the planned models until one sends its first text. After that, a failure ends the answer without fallback. Run
 * uninterruptibly: every wait is restored, and the caller closes the answer.
 */
export const callUntilAnswered = Effect.fnUntraced(function* (
  plan: Iterable<PlannedCall>,
  request: CallsRequest,
  { breakers, providers, ...context }: CallsContext
): Effect.fn.Return<AnsweredCall, ProviderFailed> {
  const attempts: Array<CallAttempt> = []
  const failures: Array<PlannedCall & { readonly failure: ProviderFailed }> = []
  const note = (call: PlannedCall, outcome: CallAttempt["outcome"], tries: number) =>
    attempts.push({ model: call.model.id, provider: call.provider, outcome, tries })

  let ownKey = false
  for (const call of plan) {
    ownKey ||= call.keyId !== undefined
    const provider = providers.get(call.provider)
    if (provider === undefined) continue
    const input = { provider, call, ...withAnswerLimit(request, call) }
    const attempt = yield* retryCall(tryOnce(input, context), {
      breakers,
      call,
      clock: context.clock,
      deadline: request.deadline,
      policy: context.settings.retry,
      restore: context.restore
    })
    if (Option.isNone(attempt)) {
      note(call, "skipped", 0)
      continue
    }
    const { result, tries } = attempt.value
    if (Either.isRight(result)) {
      note(call, "answered", tries)
      const answer = result.right
      let brokenOff: ProviderFailed | undefined
      return {
        attempts,
        ...answer,
        next: Effect.catchAll(answer.next, (broken) => {
          const failure = call.keyId === undefined ? broken : markOwnKeyFailure(broken)
          brokenOff = failure
          answer.span?.attribute("error.type", failure.kind)
          answer.meter.fail(failure.kind)
          countCall(call, failure.kind)
          breakers.recordFailure(call, failure, context.clock.unsafeCurrentTimeMillis())
          return Effect.zipRight(logFailure("Model answer broke off", call, failure, context), Effect.fail(failure))
        }),
        close: (exit) =>
          Effect.flatMap(answer.meter.finish, () => answer.close(brokenOff === undefined ? exit : Exit.fail(brokenOff)))
      }
    }
    const failure = call.keyId === undefined ? result.left : markOwnKeyFailure(result.left)
    note(call, failure.kind, tries)
    failures.push({ ...call, failure })
    yield* logFailure("Model did not answer", call, failure, context)
    // A fallback would hide the rejected key from its owner.
    if (failure.ownKey === true && failure.kind === "unauthorized") return yield* failure
  }
  const skipped = attempts[0]
  return yield* Effect.fail(
    summarizeFailures(failures) ??
      new ProviderFailed({
        provider: skipped?.provider ?? "openrouter",
        kind: "overloaded",
        reason: "circuit breaker is open",
        ownKey,
        retryAfter: context.settings.breaker.cooldown
      })
  )
})
