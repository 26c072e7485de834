import { Data, type DateTime, type Duration, Effect, Option, type Scope, Stream } from "effect"
import type { AgentNotFound } from "../../agents/AgentErrors.ts"
import type { ChatOpening } from "../../ai/calls/ChatRequest.ts"

/** A plugin did not complete. `reason` is a sentence for the caller, without secrets; `retryAfter` is the provider's. */
export class PluginFailed extends Data.TaggedError("PluginFailed")<{
  readonly reason: string
  readonly retryAfter?: Duration.Duration | undefined
  /** No model could be called. */
  readonly isUnavailable?: boolean | undefined
}> {
  override get message() {
    return this.reason
  }
}

/** The input of a plugin is invalid; the caller can correct it. */
export class PluginInputInvalid extends Data.TaggedError("PluginInputInvalid")<{
  readonly field: string
  readonly reason: string
}> {
  override get message() {
    return `${this.field}: ${this.reason}`
  }
}

/** The end of a plugin's answer. */
export interface PluginAnswer {
  /** The whole text; for speech, base64 audio. */
  readonly message: string
  /** Tokens used, where the plugin is priced by them. */
  readonly tokens: number | null
  /** Reported cost in US dollars; null where the flat price counts. */
  readonly costUsd: number | null
  /** Whether every model call used the caller's own keys, which costs no units. */
  readonly ownKey: boolean
  /** Media type of the audio in `message`. */
  readonly audioType?: string | undefined
}

/** Non-empty deltas, then one `done` as the last event. */
export type PluginEvent = { readonly type: "delta"; readonly text: string } | ({ readonly type: "done" } & PluginAnswer)

/** Another owner's agent counts as not found. */
export type PluginError = PluginFailed | PluginInputInvalid | AgentNotFound

/** Ends with `done`, or fails. Lazy: the plugin starts when the stream is read and stops when its reader leaves. */
export type PluginRun = Stream.Stream<PluginEvent, PluginError>

/** A run whose first event is available. */
export interface OpenedRun<E> {
  /** The model that answers, where one model does. */
  readonly opening: Option.Option<ChatOpening>
  readonly events: Stream.Stream<PluginEvent, E>
}

/** The events of a call as they reach its caller. */
export type CallEvent =
  | Extract<PluginEvent, { readonly type: "delta" }>
  | (Extract<PluginEvent, { readonly type: "done" }> & { readonly answeredAt: DateTime.Utc })

const incomplete = new PluginFailed({ reason: "the answer broke off" })

/** The end of an answer. */
export const collectEnd = <A extends { readonly type: string }, E>(
  events: Stream.Stream<A, E>
): Effect.Effect<Extract<A, { readonly type: "done" }>, E | PluginFailed> => {
  const isEnd = (event: A): event is Extract<A, { readonly type: "done" }> => event.type === "done"
  return Effect.flatMap(
    Stream.runFold(events, Option.none<Extract<A, { readonly type: "done" }>>(), (found, event) =>
      isEnd(event) ? Option.some(event) : found
    ),
    Effect.mapError(() => incomplete)
  )
}

/** Waits for the first event, so that failures before it fail here. Closing the scope ends the run. */
export const openPluginRun = <E>(
  run: Stream.Stream<PluginEvent, E>
): Effect.Effect<Stream.Stream<PluginEvent, E>, E | PluginFailed, Scope.Scope> =>
  Effect.flatMap(Stream.toPull(run), (pull) =>
    Effect.mapBoth(pull, {
      onFailure: Option.getOrElse((): E | PluginFailed => incomplete),
      onSuccess: (first) => Stream.concat(Stream.fromChunk(first), Stream.repeatEffectChunkOption(pull))
    })
  )
