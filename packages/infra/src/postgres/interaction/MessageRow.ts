import { Message } from "@berth/domain/interaction/Conversation"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"
import { toColumnName } from "../ColumnNames.ts"
import { UsdMicrosColumn } from "../shared/MoneyColumns.ts"

export const MessageRow = Schema.Struct({
  ...Message.fields,
  costMicros: Schema.NullOr(UsdMicrosColumn),
  createdAt: Schema.DateTimeUtcFromDate
})

const columns = Object.keys(Message.fields).map(toColumnName).join(", ")

/** Excludes the search vector, which is larger than the message. */
export const selectMessageColumns = (sql: SqlClient) => sql.literal(columns)
