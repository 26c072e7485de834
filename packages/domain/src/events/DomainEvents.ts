import { Context, type Effect } from "effect"
import type { UserId } from "../shared/UserId.ts"
import type { DomainEvent } from "./DomainEvent.ts"

/** Events for external subscribers, in the order of their changes. */
export class DomainEvents extends Context.Tag("@berth/DomainEvents")<
  DomainEvents,
  {
    /**
     * Joins the running transaction, which changes the subject. `user`: the account, or the owner of the subject; the
     * event is deleted with it. Null for a deleted account. Later events with the same `onceKey` are ignored.
     */
    readonly append: (event: DomainEvent, user: UserId | null, onceKey?: string) => Effect.Effect<void>
  }
>() {}
