import { Context, Duration, type DateTime, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** Age at which a stored response is deleted. */
export const responseRetention = Duration.days(30)

/** Items of the Responses protocol, as JSON. */
type Items = ReadonlyArray<unknown>

export interface StoredModelResponse {
  readonly id: string
  /** The response that this one continues. */
  readonly previousId: string | null
  readonly input: Items
  readonly output: Items
}

/** Answers of models that later calls of their owner continue. */
export class StoredResponses extends Context.Tag("@berth/StoredResponses")<
  StoredResponses,
  {
    /** Stores nothing for an owner who is gone. */
    readonly save: (ownerId: UserId, response: StoredModelResponse) => Effect.Effect<void>
    /** The response and those that it continues, oldest first; empty for another owner's. */
    readonly findChain: (ownerId: UserId, id: string) => Effect.Effect<ReadonlyArray<StoredModelResponse>>
    /** Those of the owner among the ids. */
    readonly findAll: (ownerId: UserId, ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<StoredModelResponse>>
    /** Deletes responses that were stored before; returns their number. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
