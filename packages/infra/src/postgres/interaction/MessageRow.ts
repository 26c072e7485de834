import { Message } from "@berth/domain/interaction/Conversation"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"

export const MessageRow = Schema.Struct({ ...Message.fields, createdAt: Schema.DateTimeUtcFromDate })

/** Excludes the search vector, which is larger than the message. */
export const selectMessageColumns = (sql: SqlClient) =>
  sql.csv(Object.keys(Message.fields).map((name) => sql`${sql(name)}`))
