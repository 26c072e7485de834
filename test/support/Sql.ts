import { SqlClient } from "@effect/sql/SqlClient"
import type { Row } from "@effect/sql/SqlConnection"
import type { Fragment } from "@effect/sql/Statement"
import { Effect } from "effect"
import { eventually } from "./Eventually.ts"

type Value = string | number | bigint | boolean | Date | null | Uint8Array | ReadonlyArray<string | number> | Fragment

/** Runs a statement at the client of the context. A part of another statement needs the client itself. */
export const sql = <A extends object = Row>(strings: TemplateStringsArray, ...values: ReadonlyArray<Value>) =>
  Effect.flatMap(SqlClient, (client) => client<A>(strings, ...values))

/** Waits until this number of statements waits for locks of the database. */
export const untilLocked = (number: number) =>
  eventually(
    Effect.zipRight(
      sql`select pg_stat_clear_snapshot()`,
      sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    ),
    (waiting) => waiting.length >= number
  )
