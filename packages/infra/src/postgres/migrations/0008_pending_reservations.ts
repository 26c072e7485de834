import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/** A reservation that a waiting message refers to is never stale; this finds the message. */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`create index messages_pending_reservation on messages (reservation_id) where state = 'pending'`
)
