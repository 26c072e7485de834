import { Context, type Effect } from "effect"
import type { UserId } from "../shared/UserId.ts"

/** Deletes the conversations and notes of an owner's agents, for a memory reset. */
export class ConversationRemoval extends Context.Tag("@berth/ConversationRemoval")<
  ConversationRemoval,
  {
    /** Returns the number of deleted conversations. */
    readonly removeAll: (ownerId: UserId) => Effect.Effect<number>
  }
>() {}
