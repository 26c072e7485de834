import { SqlClient } from "@effect/sql/SqlClient"
import type { Row } from "@effect/sql/SqlConnection"
import type { Fragment } from "@effect/sql/Statement"
import { Effect } from "effect"

type Value = string | number | bigint | boolean | Date | null | Uint8Array | ReadonlyArray<string | number> | Fragment

/** Runs a statement at the client of the context. A part of another statement needs the client itself. */
export const sql = <A extends object = Row>(strings: TemplateStringsArray, ...values: ReadonlyArray<Value>) =>
  Effect.flatMap(SqlClient, (client) => client<A>(strings, ...values))
