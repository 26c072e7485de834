import { Data } from "effect"

/** The text of an applied migration differs from the program's. */
export class MigrationChanged extends Data.TaggedError("MigrationChanged")<{
  readonly id: number
  readonly file: string
}> {
  override readonly message = `Migration ${this.id} (${this.file}) differs from the one applied to this database. Restore the file and put the change into a new migration.`
}

/** The database has a migration that the program does not contain. */
export class SchemaTooNew extends Data.TaggedError("SchemaTooNew")<{
  readonly id: number
  readonly file: string
}> {
  override readonly message = `The database schema is newer than this program: it has migration ${this.id} (${this.file}). Start the version that applied it, or a later one.`
}

/** The schema is from before migrations had hashes. */
export class SchemaOutdated extends Data.TaggedError("SchemaOutdated")<{ readonly database: string }> {
  override readonly message = `The schema of the database "${this.database}" was made by an unreleased version and cannot be upgraded. Drop the database of DATABASE_URL and create it again; for the embedded database, remove the data directory given by DATA_DIR.`
}

export class DatabaseEncodingUnsupported extends Data.TaggedError("DatabaseEncodingUnsupported")<{
  readonly database: string
  readonly encoding: string
}> {
  override readonly message = `The database "${this.database}" has the encoding ${this.encoding}; only UTF8 is supported. Create it again with: create database "${this.database}" template template0 encoding 'UTF8'.`
}

/** The server rejects the URL's user, password or database. */
export class DatabaseAccessDenied extends Data.TaggedError("DatabaseAccessDenied")<{
  /** SQLSTATE. */
  readonly reason: string
  readonly address: string
  /** The server's message. */
  readonly sentence: string
}> {
  override get message() {
    const remedy =
      this.reason === "3D000" ? "create the database, or name another one" : "correct the user and the password"
    return `DATABASE_URL: PostgreSQL at ${this.address} rejects the connection (${this.sentence}); ${remedy}`
  }
}

/** Reasons to reject a database; a restart does not help. */
export type DatabaseRefused =
  DatabaseAccessDenied | MigrationChanged | SchemaTooNew | SchemaOutdated | DatabaseEncodingUnsupported

const refusals: ReadonlySet<string> = new Set<DatabaseRefused["_tag"]>([
  "DatabaseAccessDenied",
  "MigrationChanged",
  "SchemaTooNew",
  "SchemaOutdated",
  "DatabaseEncodingUnsupported"
])

export const isDatabaseRefused = (error: { readonly _tag: string }): error is DatabaseRefused =>
  refusals.has(error._tag)
