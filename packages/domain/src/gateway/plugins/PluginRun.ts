import { Data, type Duration, Effect, type Option, type Scope, Stream } from "effect"
import type { AgentNotFound } from "../../agents/AgentErrors.ts"
import type { ChatEnding, ChatOpening } from "../../ai/calls/ChatRequest.ts"
import type { ToolCall } from "../../ai/chat/ModelChat.ts"
import type { AnsweringModel } from "../../ai/models/AnsweringModel.ts"
import type { ProviderFailed, ProviderFailureKind } from "../../ai/models/ModelErrors.ts"
import { type ChunkReader, prependReader, readerFromStream, streamFromReader } from "../../ai/streams/ChunkReader.ts"
import type { ModelDelta } from "../../ai/streams/ModelEvent.ts"

/**
 * A plugin did not complete. `reason` is for the caller and contains no secrets; `kind` and `retryAfter` are the
 * provider's.
 */
export class PluginFailed extends Data.TaggedError("PluginFailed")<{
  readonly reason: string
  readonly kind?: ProviderFailureKind | undefined
  readonly retryAfter?: Duration.Duration | undefined
  /** Whether no model was callable. */
  readonly isUnavailable?: boolean | undefined
}> {
  override get message() {
    return this.reason
  }
}

export const toPluginFailed = ({ kind, message, retryAfter }: ProviderFailed): PluginFailed =>
  new PluginFailed({ reason: message, kind, retryAfter })

/** The input of a plugin is invalid; the caller can correct it. */
export class PluginInputInvalid extends Data.TaggedError("PluginInputInvalid")<{
  readonly field: string
  readonly reason: string
}> {
  override get message() {
    return `${this.field}: ${this.reason}`
  }
}

/** End of a plugin's answer. */
export interface PluginResult {
  readonly type: "done"
  /** The complete text; for speech, base64 audio. */
  readonly message: string
  /** Used tokens if they determine the price, else null. */
  readonly tokens: number | null
  /** Reported cost in US dollars; null if only the flat price applies. */
  readonly costUsd: number | null
  /** Whether every model call used the caller's own keys, without units. */
  readonly ownKey: boolean
  /** Model of the last text; absent for runtimes of an earlier release. */
  readonly answeredBy?: AnsweringModel | undefined
  /** Media type of the audio in `message`. */
  readonly audioType?: string | undefined
  /** Remaining members of a model's answer. */
  readonly completion?: (ChatEnding & { readonly toolCalls: ReadonlyArray<ToolCall> }) | undefined
}

/** Another owner's agent is reported as not found. */
export type PluginError = PluginFailed | PluginInputInvalid | AgentNotFound

/**
 * Non-empty deltas, then one result; or a failure. Lazy: the plugin starts with the first read and stops when the
 * stream is closed.
 */
export type PluginRun = Stream.Stream<ModelDelta | PluginResult, PluginError>

/** A run whose first event is available. */
export interface OpenedRun<E> {
  /** The answering model, if a single model answers. */
  readonly opening: Option.Option<ChatOpening>
  readonly events: ChunkReader<ModelDelta | PluginResult, E>
}

const incomplete = new PluginFailed({ reason: "the answer broke off" })

interface Ended {
  readonly type: "done"
}

const isEnd = <End extends Ended>(event: ModelDelta | End): event is End => event.type === "done"
const isDelta = <End extends Ended>(event: ModelDelta | End): event is ModelDelta => event.type === "delta"

export const collectResult = <Result extends Ended, E>(
  events: ChunkReader<ModelDelta | Result, E>
): Effect.Effect<Result, E | PluginFailed> => {
  const next: Effect.Effect<Result, E | PluginFailed> = Effect.flatMap(events, (read) => {
    if (read === null) return Effect.fail(incomplete)
    const last = read.at(-1)
    return last !== undefined && isEnd(last) ? Effect.succeed(last) : next
  })
  return next
}

/** Replaces the last event. Deltas pass in whole chunks; those of the last chunk precede `onEnd`. */
export const mapEnd =
  <End extends Ended, Result, E2>(onEnd: (end: End) => Effect.Effect<Result, E2>) =>
  <E>(read: ChunkReader<ModelDelta | End, E>): ChunkReader<ModelDelta | Result, E | E2> => {
    type Reader = ChunkReader<ModelDelta | Result, E | E2>
    const replace = (end: End): Reader => Effect.map(onEnd(end), (result) => [result])
    let pendingEnd: End | undefined
    const next: Reader = Effect.flatMap(read, (events): Reader => {
      if (events === null) return Effect.succeed(null)
      const deltas = events.filter(isDelta)
      const last = events.at(-1)
      if (last === undefined || !isEnd(last)) return Effect.succeed(deltas)
      if (deltas.length === 0) return replace(last)
      pendingEnd = last
      return Effect.succeed(deltas)
    })
    return Effect.suspend(() => {
      if (pendingEnd === undefined) return next
      const end = pendingEnd
      pendingEnd = undefined
      return replace(end)
    })
  }

export const mapStreamEnd =
  <End extends Ended, Result, E2>(onEnd: (end: End) => Effect.Effect<Result, E2>) =>
  <E>(events: Stream.Stream<ModelDelta | End, E>): Stream.Stream<ModelDelta | Result, E | E2> =>
    Stream.unwrapScoped(Effect.map(readerFromStream(events), (read) => streamFromReader(mapEnd(onEnd)(read))))

/** Waits for the first event, so that earlier failures fail here. Closing the scope ends the run. */
export const openPluginRun = <A, E>(
  run: Stream.Stream<A, E>
): Effect.Effect<ChunkReader<A, E>, E | PluginFailed, Scope.Scope> =>
  Effect.flatMap(readerFromStream(run), (read) =>
    Effect.flatMap(read, (first) =>
      first === null ? Effect.fail(incomplete) : Effect.succeed(prependReader(first, read))
    )
  )
