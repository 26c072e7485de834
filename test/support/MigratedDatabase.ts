import { layerMigrated } from "@berth/infra/postgres/Migrations"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Layer, type Redacted, type Scope } from "effect"
import { databaseFromTemplate } from "./Databases.ts"

const options = (url: Redacted.Redacted) => ({ url, maxConnections: 10, applicationName: "test" })

/** The URL of a database of one's own with the whole schema and no rows; the migrations run once in a test run. */
export const migratedDatabase: Effect.Effect<Redacted.Redacted, never, Scope.Scope> = databaseFromTemplate({
  name: "berth",
  prepare: (url) => Effect.orDie(Effect.scoped(Layer.build(layerMigrated(options(url)))))
})

/** A pool of ten on a migrated database of its own. */
export const layer: Layer.Layer<PgClient | SqlClient> = Layer.unwrapScoped(
  Effect.map(migratedDatabase, (url) => Layer.orDie(PostgresPool.layer(options(url))))
)
