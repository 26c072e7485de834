import { Data, Effect, Option } from "effect"
import { execFile } from "node:child_process"

/**
 * Who PostgreSQL runs as. Its programs refuse the uid 0, so a root user lends them another account, or a user
 * namespace in which root is called something else.
 */
export type PostgresAccount = Data.TaggedEnum<{
  Self: {}
  User: { readonly name: string; readonly uid: number; readonly gid: number }
  Namespace: {}
}>

const { $match, Namespace: namespace, Self: self, User } = Data.taggedEnum<PostgresAccount>()

export const Self: PostgresAccount = self()
export const Namespace: PostgresAccount = namespace()

/** A command line and the ids to run it under. */
export interface Invocation {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly ids: { readonly uid?: number; readonly gid?: number }
}

export const makeInvocation = (account: PostgresAccount, program: string, args: ReadonlyArray<string>): Invocation =>
  $match(account, {
    Self: () => ({ command: program, args, ids: {} }),
    User: ({ gid, uid }) => ({ command: program, args, ids: { uid, gid } }),
    Namespace: () => ({
      command: "unshare",
      args: ["--user", "--map-user=1", "--map-group=1", program, ...args],
      ids: {}
    })
  })

/** The uid that must own the data directory, as seen from here. */
export const resolveFileOwner = (account: PostgresAccount): { readonly uid: number; readonly gid: number } =>
  $match(account, {
    Self: () => ({ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }),
    User: ({ gid, uid }) => ({ uid, gid }),
    Namespace: () => ({ uid: 0, gid: 0 })
  })

/** PostgreSQL gets none of our environment: it may hold keys, and settings of its own would change how it runs. */
export const postgresEnvironment = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }

export interface CommandResult {
  readonly ok: boolean
  readonly output: string
}

/** Runs a program to its end. A program that cannot be started answers like one that failed. */
export const runCommand = (
  account: PostgresAccount,
  program: string,
  args: ReadonlyArray<string>
): Effect.Effect<CommandResult> =>
  Effect.async((resume) => {
    const call = makeInvocation(account, program, args)
    // The root directory is the one working directory that every account can enter.
    execFile(call.command, call.args, { ...call.ids, cwd: "/", env: postgresEnvironment }, (error, stdout, stderr) => {
      const said = `${stdout}${stderr}`
      resume(Effect.succeed({ ok: error === null, output: said === "" && error !== null ? error.message : said }))
    })
  })

/** Looks an account of the system up by name. */
export const findAccount = (name: string): Effect.Effect<Option.Option<PostgresAccount>> =>
  Effect.all([runCommand(Self, "id", ["-u", name]), runCommand(Self, "id", ["-g", name])]).pipe(
    Effect.map(([uid, gid]) =>
      uid.ok && gid.ok
        ? Option.some<PostgresAccount>(User({ name, uid: Number(uid.output), gid: Number(gid.output) }))
        : Option.none()
    )
  )
