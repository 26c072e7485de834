import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, type Option } from "effect"
import { makeDirectly } from "./DirectQueries.ts"
import { makeRequestGroups } from "./RequestGroups.ts"
import { selectRequests } from "./RequestTable.ts"

interface KeyedRead<A> {
  /** Selects from `wanted`, a table of the keys in its column `key`. */
  readonly select: (wanted: Fragment) => Fragment
  readonly decode: (
    statement: Effect.Effect<ReadonlyArray<unknown>, SqlError>
  ) => Effect.Effect<ReadonlyArray<readonly [key: string, A]>>
}

/** Hot path: reads a row by its key, in one statement for concurrent callers. */
export const makeKeyedRead = <A>(sql: SqlClient, { decode, select }: KeyedRead<A>) =>
  Effect.map(Effect.all([makeDirectly, makeRequestGroups]), ([directly, groupRequests]) => {
    const read = groupRequests((requests: ReadonlyArray<{ readonly id: string }>) => {
      const keys = Array.from(new Set(requests.map(({ id }) => id)))
      const wanted = sql`(${selectRequests(sql, keys, { key: ["text", (key) => key] })}) as wanted`
      return decode(directly(sql`${select(wanted)}`))
    })
    return (key: string): Effect.Effect<Option.Option<A>> => read({ id: key })
  })
