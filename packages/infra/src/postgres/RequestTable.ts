import type { SqlClient } from "@effect/sql/SqlClient"
import { toColumnName } from "./ColumnNames.ts"

/** Columns of requests: the type of each, and its value. */
export interface RequestColumns<Request> {
  readonly [name: string]: readonly [type: string, of: (request: Request) => boolean | number | string | null]
}

/**
 * Selects the requests of a group as rows of `request`. The limit, which is unknown to a kept plan, makes the planner
 * expect one request, and so read every table by index.
 */
export const selectRequests = <Request>(
  sql: SqlClient,
  requests: ReadonlyArray<Request>,
  columns: RequestColumns<Request>
) => {
  const arrays = Object.values(columns).map(([type, of]) => sql`${requests.map(of)}::${sql.literal(type)}[]`)
  const names = Object.keys(columns).map(toColumnName).join(", ")
  return sql`select * from unnest(${sql.csv(arrays)}) as request (${sql.literal(names)}) limit ${requests.length}`
}
