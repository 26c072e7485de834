import { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"

/** Whether a call went by the user's own key, so that the platform did not pay for it. */
export default Effect.flatMap(
  SqlClient,
  (sql) => sql`alter table model_usage add column own_key boolean not null default false`
)
