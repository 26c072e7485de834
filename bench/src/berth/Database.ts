import type { BerthLocation } from "@berth/test/e2e/BerthProcess"
import { Effect, Option, Redacted, Schema, type Scope } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Pool } from "pg"

/** Database of the measured service, for changes that its API does not offer. */
export interface Database {
  readonly url: Redacted.Redacted
  readonly select: <A, I>(
    row: Schema.Schema<A, I>,
    text: string,
    values?: ReadonlyArray<unknown>
  ) => Effect.Effect<ReadonlyArray<A>>
  readonly execute: (text: string, values?: ReadonlyArray<unknown>) => Effect.Effect<void>
}

/** URL of the embedded server, from the files beside its data. */
const embeddedUrl = ({ dataDirectory }: BerthLocation) =>
  Effect.promise(async () => {
    const file = async (name: string) => (await readFile(join(dataDirectory, "postgres", name), "utf8")).trim()
    return Redacted.make(`postgres://postgres:${await file("password")}@127.0.0.1:${await file("port")}/postgres`)
  })

export const connectDatabase = (
  place: BerthLocation,
  configured: Option.Option<Redacted.Redacted>
): Effect.Effect<Database, never, Scope.Scope> =>
  Effect.gen(function* () {
    const url = yield* Option.match(configured, { onNone: () => embeddedUrl(place), onSome: Effect.succeed })
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => new Pool({ connectionString: Redacted.value(url), max: 2 })),
      (pool) => Effect.promise(() => pool.end())
    )
    const query = (text: string, values: ReadonlyArray<unknown> = []) =>
      Effect.promise(() => pool.query(text, [...values]))
    return {
      url,
      select: (row, text, values) => {
        const decode = Schema.decodeUnknown(Schema.Array(row))
        return Effect.flatMap(query(text, values), ({ rows }) => Effect.orDie(decode(rows)))
      },
      execute: (text, values) => Effect.asVoid(query(text, values))
    } satisfies Database
  })
