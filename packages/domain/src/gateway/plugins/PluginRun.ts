import { Data, type Duration, Effect, Option, type Scope, Stream } from "effect"
import type { AgentNotFound } from "../../agents/AgentErrors.ts"

/**
 * A plugin could not do what it was asked to; `reason` is a sentence for the caller, with no secret in it. `retryAfter` is
 * what a provider asked for.
 */
export class PluginFailed extends Data.TaggedError("PluginFailed")<{
  readonly reason: string
  readonly retryAfter?: Duration.Duration | undefined
  /** Nobody was asked, since nobody could be. */
  readonly nobodyWasAsked?: boolean | undefined
}> {
  override get message() {
    return this.reason
  }
}

/** What the caller asked of a plugin cannot be done as he asked it: his to put right. */
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
  /** The whole text; of speech, its base64. */
  readonly message: string
  /** Tokens that models took, as far as the plugin is priced by them. */
  readonly tokens: number | null
  /** Whether every model call of it went by the caller's own keys: then it costs him nothing here. */
  readonly ownKey: boolean
  /** The type of the audio in `message`, of a plugin that speaks. */
  readonly audioType?: string | undefined
}

/** Pieces of text, none of them empty, then one `done` as the last. */
export type PluginEvent = { readonly type: "delta"; readonly text: string } | ({ readonly type: "done" } & PluginAnswer)

/** Why a plugin did not do it; an agent that is not the caller's is not there. */
export type PluginError = PluginFailed | PluginInputInvalid | AgentNotFound

/** Ends with `done`, or fails. What is behind it is called once it is read, and ends when its reader leaves. */
export type PluginRun = Stream.Stream<PluginEvent, PluginError>

const withoutEnd = new PluginFailed({ reason: "the answer broke off" })

/** A whole answer. */
export const collectPluginAnswer = <E>(
  run: Stream.Stream<PluginEvent, E>
): Effect.Effect<PluginAnswer, E | PluginFailed> =>
  Effect.flatMap(
    Stream.runFold(run, Option.none<PluginAnswer>(), (found, event) =>
      event.type === "done" ? Option.some(event) : found
    ),
    Effect.mapError(() => withoutEnd)
  )

/** A run whose first event is there: what fails before it fails here. It ends with the scope. */
export const openPluginRun = <E>(
  run: Stream.Stream<PluginEvent, E>
): Effect.Effect<Stream.Stream<PluginEvent, E>, E | PluginFailed, Scope.Scope> =>
  Effect.map(
    Effect.flatMap(Stream.toPull(run), (pull) =>
      Effect.map(
        Effect.mapError(
          pull,
          Option.getOrElse((): E | PluginFailed => withoutEnd)
        ),
        (first) => ({
          first,
          pull
        })
      )
    ),
    ({ first, pull }) => Stream.concat(Stream.fromChunk(first), Stream.repeatEffectChunkOption(pull))
  )
