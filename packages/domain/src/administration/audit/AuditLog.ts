import { Context, type Effect, type Option } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { Actor, AuditEntry, ListedAuditEntry } from "./AuditEntry.ts"

interface AuditQuery {
  readonly userId: Option.Option<UserId>
  readonly actor: Option.Option<Actor>
  readonly limit: number
  readonly offset: number
}

/** Append-only: the database rejects changes of entries. Entries outlive the account. */
export class AuditLog extends Context.Tag("@berth/AuditLog")<
  AuditLog,
  {
    /** Joins the running transaction. */
    readonly append: (entry: Omit<AuditEntry, "id" | "createdAt">) => Effect.Effect<void>
    /** Newest first, with the full count. */
    readonly list: (
      query: AuditQuery
    ) => Effect.Effect<{ readonly entries: ReadonlyArray<ListedAuditEntry>; readonly total: number }>
  }
>() {}
