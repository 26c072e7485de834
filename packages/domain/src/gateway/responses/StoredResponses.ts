import { Context, Data, Duration, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** Age at which a stored response is deleted. */
export const responseRetention = Duration.days(30)

/** Items of the Responses protocol, as JSON. */
type Items = ReadonlyArray<unknown>

/** Bytes that the responses of an owner take at most after a retention, which deletes the oldest. */
export const maximumBytesOfOwner = 256 * 1024 * 1024
/** Bytes of earlier responses that a call continues, or that it refers to, at most. */
export const maximumBytesOfChain = 16 * 1024 * 1024

export interface StoredOutput {
  readonly id: string
  readonly output: Items
}

export interface StoredModelResponse extends StoredOutput {
  /** The response that this one continues. */
  readonly previousId: string | null
  readonly input: Items
  /** The response without its output, as JSON. */
  readonly response: object
}

/** The responses that one continues, or refers to, are too many or too long. */
export class ResponseChainTooLong extends Data.TaggedError("ResponseChainTooLong")<object> {}

/** Answers of models that later calls of their owner continue. */
export class StoredResponses extends Context.Tag("@berth/StoredResponses")<
  StoredResponses,
  {
    /** Stores nothing for an owner who is gone. */
    readonly save: (ownerId: UserId, response: StoredModelResponse) => Effect.Effect<void>
    /** The response and those that it continues, oldest first; empty for another owner's. */
    readonly findChain: (
      ownerId: UserId,
      id: string
    ) => Effect.Effect<ReadonlyArray<Pick<StoredModelResponse, "input" | "output">>, ResponseChainTooLong>
    /** The whole response as JSON. */
    readonly find: (ownerId: UserId, id: string) => Effect.Effect<Option.Option<object>>
    /** The items that the response answers, without those of earlier responses. */
    readonly findInput: (ownerId: UserId, id: string) => Effect.Effect<Option.Option<Items>>
    /** False when the owner has no such response. Later ones that continue it keep their own items. */
    readonly remove: (ownerId: UserId, id: string) => Effect.Effect<boolean>
    /** Those of the owner among the ids. */
    readonly findOutputs: (
      ownerId: UserId,
      ids: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<StoredOutput>, ResponseChainTooLong>
    /** Deletes responses that were stored before, and the oldest ones of owners with more bytes; returns their number. */
    readonly prune: (before: DateTime.Utc, bytesOfOwner: number) => Effect.Effect<number>
  }
>() {}
