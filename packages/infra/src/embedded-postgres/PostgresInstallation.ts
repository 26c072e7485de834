import { Effect, Option } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { cp, mkdir, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { EmbeddedPostgresStartFailed, toStartFailed } from "./EmbeddedPostgresErrors.ts"
import * as PostgresAccount from "./PostgresAccount.ts"

/** The programs, an account that can run them, and a directory (`base`) that the account can access. */
export interface PostgresInstallation {
  readonly native: string
  readonly base: string
  readonly account: PostgresAccount.PostgresAccount
}

/** For programs and data that no account can access at their path, for example in a private home directory. */
const fallbackDirectory = "/var/lib/berth-postgres"

/** Returns the existing data directory, or a new one. */
const chooseFallback = (cluster: Option.Option<string>) =>
  cluster.pipe(
    Option.map(dirname),
    Option.filter((base) => dirname(base) === fallbackDirectory),
    Option.getOrElse(() => join(fallbackDirectory, randomBytes(8).toString("hex")))
  )

const isUsable = Effect.fn("PostgresInstallation.isUsable")(function* ({
  account,
  base,
  native
}: PostgresInstallation) {
  const program = yield* PostgresAccount.runAs(account, join(native, "bin", "postgres"), ["--version"])
  if (!program.ok) return false
  return (yield* PostgresAccount.runAs(account, "test", ["-x", base])).ok
})

const findFirstUsable = (candidates: ReadonlyArray<PostgresInstallation>) => Effect.findFirst(candidates, isUsable)

/** Copies under a temporary name and renames, so that an existing copy is complete. */
const copyPrograms = Effect.fn("PostgresInstallation.copyPrograms")(function* (
  native: string,
  base: string,
  version: string
) {
  const copy = join(base, `native-${version}`)
  if (existsSync(copy)) return copy
  yield* Effect.tryPromise({
    try: async () => {
      await mkdir(base, { recursive: true, mode: 0o711 })
      await rm(`${copy}.new`, { recursive: true, force: true })
      await cp(native, `${copy}.new`, { recursive: true, verbatimSymlinks: true })
      await rename(`${copy}.new`, copy)
    },
    catch: toStartFailed(`copying the programs to ${base}`)
  })
  return copy
})

/**
 * Chooses an account: "postgres", else a user namespace (requires no readable parent directories; often forbidden in
 * containers), else a shared account, else a copy of the programs that every account can access.
 */
export const chooseInstallation = Effect.fn("PostgresInstallation.choose")(function* (
  binaries: { readonly native: string; readonly version: string },
  directory: string,
  cluster: Option.Option<string>
) {
  const here = { native: binaries.native, base: directory }
  if (process.getuid?.() !== 0) return { ...here, account: PostgresAccount.Self }
  const dedicated = Option.toArray(yield* PostgresAccount.findAccount("postgres"))
  const shared = (yield* Effect.forEach(["daemon", "nobody"], PostgresAccount.findAccount)).flatMap(Option.toArray)
  const moved = chooseFallback(cluster)
  const inPlace = existsSync(join(moved, "cluster"))
    ? Option.none()
    : yield* findFirstUsable(
        [...dedicated, PostgresAccount.Namespace, ...shared].map((account) => ({ ...here, account }))
      )
  if (Option.isSome(inPlace)) return inPlace.value
  const native = yield* copyPrograms(binaries.native, moved, binaries.version)
  return yield* Effect.flatten(
    findFirstUsable([...dedicated, ...shared].map((account) => ({ native, base: moved, account })))
  ).pipe(
    Effect.mapError(
      () =>
        new EmbeddedPostgresStartFailed({
          reason:
            "PostgreSQL refuses to run as root, and neither an account (postgres, daemon, nobody) nor a user namespace can run it here. Start as another user, or set DATABASE_URL"
        })
    )
  )
})
