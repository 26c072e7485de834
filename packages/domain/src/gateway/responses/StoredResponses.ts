import { Context, Data, Duration, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../../shared/UserId.ts"

export const responseRetention = Duration.days(30)

/** Items of the Responses protocol, as JSON. */
type Items = ReadonlyArray<unknown>

/** Maximum bytes of an owner's responses after retention, which deletes the oldest. */
export const maximumBytesOfOwner = 256 * 1024 * 1024
/** Maximum bytes of earlier responses that a call continues or references. */
export const maximumBytesOfChain = 16 * 1024 * 1024

export interface StoredOutput {
  readonly id: string
  readonly output: Items
}

interface StoredModelResponse extends StoredOutput {
  /** The response that this one continues. */
  readonly previousId: string | null
  readonly input: Items
  /** The response without its output, as JSON. */
  readonly response: object
}

/** The continued or referenced responses are too many or too large. */
export class ResponseChainTooLong extends Data.TaggedError("ResponseChainTooLong")<object> {}

/** Model answers that later calls of their owner can continue. */
export class StoredResponses extends Context.Tag("@berth/StoredResponses")<
  StoredResponses,
  {
    /** No effect for a deleted owner. */
    readonly save: (ownerId: UserId, response: StoredModelResponse) => Effect.Effect<void>
    /** Returns the response and those that it continues, oldest first; empty for another owner's response. */
    readonly findChain: (
      ownerId: UserId,
      id: string
    ) => Effect.Effect<ReadonlyArray<Pick<StoredModelResponse, "input" | "output">>, ResponseChainTooLong>
    /** Returns the complete response as JSON. */
    readonly find: (ownerId: UserId, id: string) => Effect.Effect<Option.Option<object>>
    /** Returns the input items of the response, without those of earlier responses. */
    readonly findInput: (ownerId: UserId, id: string) => Effect.Effect<Option.Option<Items>>
    /** False if the owner has no such response. Later responses that continue it keep their items. */
    readonly remove: (ownerId: UserId, id: string) => Effect.Effect<boolean>
    /** Returns the owner's outputs among the ids. */
    readonly findOutputs: (
      ownerId: UserId,
      ids: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<StoredOutput>, ResponseChainTooLong>
    /**
     * Deletes responses stored before `before`, and the oldest of owners above `bytesOfOwner`; returns their number.
     */
    readonly prune: (before: DateTime.Utc, bytesOfOwner: number) => Effect.Effect<number>
  }
>() {}
