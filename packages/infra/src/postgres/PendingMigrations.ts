import { Either } from "effect"
import { MigrationChanged, SchemaTooNew } from "./SchemaErrors.ts"
import { createHash } from "node:crypto"

export interface Migration {
  readonly id: number
  readonly file: string
  readonly sql: string
}

interface AppliedMigration {
  readonly id: number
  readonly file: string
  readonly sha256: string
}

export const sha256Of = ({ sql }: Migration): string => createHash("sha256").update(sql).digest("hex")

/** Returns the unapplied migrations, or the first applied migration that the program must reject. */
export const pendingMigrations = (
  known: ReadonlyArray<Migration>,
  applied: ReadonlyArray<AppliedMigration>
): Either.Either<ReadonlyArray<Migration>, MigrationChanged | SchemaTooNew> => {
  const byId = new Map(known.map((migration) => [migration.id, migration]))
  for (const { file, id, sha256 } of applied.toSorted((a, b) => a.id - b.id)) {
    const migration = byId.get(id)
    if (migration === undefined) return Either.left(new SchemaTooNew({ id, file }))
    if (sha256Of(migration) !== sha256) return Either.left(new MigrationChanged({ id, file: migration.file }))
    byId.delete(id)
  }
  return Either.right([...byId.values()])
}
