import { Message } from "@berth/domain/interaction/Conversation"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"
import { UsdMicrosColumn } from "../shared/MoneyColumns.ts"

export const MessageRow = Schema.Struct({
  ...Message.fields,
  costMicros: Schema.NullOr(UsdMicrosColumn),
  createdAt: Schema.DateTimeUtcFromDate
})

/** Excludes the search vector, which is larger than the message. */
export const selectMessageColumns = (sql: SqlClient) =>
  sql.csv(Object.keys(Message.fields).map((name) => sql`${sql(name)}`))
