import { layerMigrated } from "@berth/infra/postgres/Migrations"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Layer, type Redacted, type Scope } from "effect"
import { databaseFromTemplate } from "./Databases.ts"

const options = (url: Redacted.Redacted) => ({ url, maxConnections: 10, applicationName: "test" })

/** URL of a migrated database without rows for this scope; the migrations run once per test run. */
export const migratedDatabase: Effect.Effect<Redacted.Redacted, never, Scope.Scope> = databaseFromTemplate({
  name: "berth",
  prepare: (url) => Effect.orDie(Effect.scoped(Layer.build(layerMigrated(options(url)))))
})

/** A pool of ten connections to a new migrated database. */
export const layer: Layer.Layer<PgClient | SqlClient> = Layer.unwrapScoped(
  Effect.map(migratedDatabase, (url) => Layer.orDie(PostgresPool.layer(options(url))))
)
