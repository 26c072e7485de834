import { Effect, Option } from "effect"
import { existsSync } from "node:fs"
import {
  chmod,
  chown,
  cp,
  lchown,
  mkdir,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile
} from "node:fs/promises"
import { randomBytes } from "node:crypto"
import { dirname, join } from "node:path"
import { writeFileAtomically } from "../files/AtomicFile.ts"
import { makePassableDirectory } from "../files/DataDirectory.ts"
import { EmbeddedPostgresStartFailed, toStartFailed } from "./EmbeddedPostgresErrors.ts"
import * as PostgresAccount from "./PostgresAccount.ts"

/** The files of an embedded PostgreSQL. `cluster` is its data directory or a link to it. */
export interface PostgresDirectory {
  readonly directory: string
  readonly cluster: string
  readonly password: string
  readonly port: string
  readonly log: string
}

export const postgresDirectoryAt = (directory: string): PostgresDirectory => ({
  directory,
  cluster: join(directory, "cluster"),
  password: join(directory, "password"),
  port: join(directory, "port"),
  log: join(directory, "log")
})

const isRoot = () => process.getuid?.() === 0

/**
 * Creates the directory. Its path contains no links, since the path on the command line identifies a running server.
 */
export const make = Effect.fn("PostgresDirectory.make")((directory: string) =>
  Effect.tryPromise({
    try: async () => {
      await makePassableDirectory(directory)
      return postgresDirectoryAt(await realpath(directory))
    },
    catch: toStartFailed(`making ${directory}`)
  })
)

/** Returns the real path of the data directory; none before the first start. */
export const findCluster = (home: PostgresDirectory): Effect.Effect<Option.Option<string>> =>
  Effect.option(Effect.tryPromise(() => realpath(home.cluster)))

const write = (file: string, text: string) =>
  Effect.tryPromise({ try: () => writeFileAtomically(file, text), catch: toStartFailed(`writing ${file}`) })

export const readSavedPort = (home: PostgresDirectory): Effect.Effect<Option.Option<number>> =>
  Effect.tryPromise(() => readFile(home.port, "utf8")).pipe(
    Effect.map((text) => Option.filter(Option.some(Number(text)), (port) => Number.isInteger(port) && port > 0)),
    Effect.orElseSucceed(() => Option.none())
  )

export const savePort = (home: PostgresDirectory, port: number) => write(home.port, `${port}\n`)

export const readPassword = (home: PostgresDirectory) =>
  Effect.tryPromise({
    try: () => readFile(home.password, "utf8"),
    catch: () =>
      new EmbeddedPostgresStartFailed({
        reason: `the database in ${home.cluster} has a password, but ${home.password} cannot be read. Restore the file, or move ${home.directory} away to start with an empty database`
      })
  }).pipe(Effect.map((text) => text.trim()))

/** Changes the owner of the data directory to the account; requires root. */
const changeOwner = Effect.fn("PostgresDirectory.changeOwner")(function* (
  cluster: string,
  account: PostgresAccount.PostgresAccount
) {
  const { gid, uid } = PostgresAccount.resolveFileOwner(account)
  const stats = yield* Effect.tryPromise({ try: () => stat(cluster), catch: toStartFailed(`reading ${cluster}`) })
  if (process.getuid === undefined || stats.uid === uid) return
  if (!isRoot()) {
    return yield* new EmbeddedPostgresStartFailed({
      reason: `${cluster} belongs to the user with the id ${stats.uid}. Start as that user, or choose another DATA_DIR`
    })
  }
  yield* Effect.tryPromise({
    try: async () => {
      const entries = await readdir(cluster, { recursive: true })
      for (const entry of ["", ...entries]) await lchown(join(cluster, entry), uid, gid)
    },
    catch: toStartFailed(`changing the owner of ${cluster}`)
  })
})

/** Creates an empty database in `base`. A killed start leaves only `cluster.new`. */
const initialize = Effect.fn("PostgresDirectory.initialize")(function* (
  home: PostgresDirectory,
  installation: { readonly native: string; readonly base: string; readonly account: PostgresAccount.PostgresAccount }
) {
  const { account, base, native } = installation
  const fresh = join(base, "cluster.new")
  const secret = join(base, "password.initdb")
  const { gid, uid } = PostgresAccount.resolveFileOwner(account)
  const password = randomBytes(24).toString("base64url")
  yield* write(home.password, `${password}\n`)
  yield* Effect.tryPromise({
    try: async () => {
      await rm(fresh, { recursive: true, force: true })
      await mkdir(fresh, { mode: 0o700 })
      await writeFile(secret, `${password}\n`, { mode: 0o600 })
      if (isRoot()) {
        await chown(fresh, uid, gid)
        await chown(secret, uid, gid)
      }
    },
    catch: toStartFailed(`preparing ${fresh}`)
  })
  const answer = yield* PostgresAccount.runAs(account, join(native, "bin", "initdb"), [
    `--pgdata=${fresh}`,
    "--username=postgres",
    "--auth=scram-sha-256",
    `--pwfile=${secret}`,
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions"
  ]).pipe(Effect.ensuring(Effect.promise(() => rm(secret, { force: true }))))
  if (!answer.ok) return yield* toStartFailed("initdb failed")(answer.output.trim())
  const cluster = join(base, "cluster")
  yield* Effect.tryPromise({ try: () => rename(fresh, cluster), catch: toStartFailed(`naming ${cluster}`) })
})

/** Moves a data directory to a path that the account can access. */
const move = (from: string, to: string) =>
  Effect.tryPromise({
    try: async () => {
      const copy = `${to}.new`
      await rm(copy, { recursive: true, force: true })
      await cp(from, copy, { recursive: true, preserveTimestamps: true })
      await chmod(copy, 0o700)
      await rename(copy, to)
      await rm(from, { recursive: true })
    },
    catch: toStartFailed(`moving ${from} to ${to}`)
  })

/** Creates or moves the data directory and returns its path. */
export const prepareCluster = Effect.fn("PostgresDirectory.prepareCluster")(function* (
  home: PostgresDirectory,
  installation: { readonly native: string; readonly base: string; readonly account: PostgresAccount.PostgresAccount },
  onInitialize: Effect.Effect<void>
) {
  const cluster = join(installation.base, "cluster")
  const found = yield* findCluster(home)
  if (Option.isNone(found)) {
    yield* onInitialize
    yield* initialize(home, installation)
  } else if (found.value !== cluster) {
    yield* move(found.value, cluster)
  }
  if (dirname(cluster) !== home.directory && !existsSync(home.cluster)) {
    yield* Effect.tryPromise({
      try: async () => {
        await rm(home.cluster, { force: true })
        await symlink(cluster, home.cluster)
      },
      catch: toStartFailed(`linking ${home.cluster}`)
    })
  }
  yield* changeOwner(cluster, installation.account)
  return cluster
})
