import { Data, Effect, Option } from "effect"
import { execFile } from "node:child_process"

/** Account that runs PostgreSQL. Its programs reject uid 0, so root uses another account or a user namespace. */
export type PostgresAccount = Data.TaggedEnum<{
  Self: {}
  User: { readonly name: string; readonly uid: number; readonly gid: number }
  Namespace: {}
}>

const { $match, Namespace: namespace, Self: self, User } = Data.taggedEnum<PostgresAccount>()

export const Self: PostgresAccount = self()
export const Namespace: PostgresAccount = namespace()

/** A command line, and the ids to execute it with. */
interface Invocation {
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

/** Returns the uid that must own the data directory, in this user namespace. */
export const resolveFileOwner = (account: PostgresAccount): { readonly uid: number; readonly gid: number } =>
  $match(account, {
    Self: () => ({ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }),
    User: ({ gid, uid }) => ({ uid, gid }),
    Namespace: () => ({ uid: 0, gid: 0 })
  })

const systemPath = "/usr/bin:/bin"

/** Excludes the program's environment, which may contain keys and PostgreSQL settings. */
export const makePostgresEnvironment = (path: string | undefined) => ({
  // After the caller's, which may lack the system's programs.
  PATH: path === undefined || path === "" ? systemPath : `${path}:${systemPath}`,
  LC_ALL: "C",
  TZ: "UTC"
})
export const postgresEnvironment = makePostgresEnvironment(process.env["PATH"])

interface CommandResult {
  readonly ok: boolean
  readonly output: string
}

/** Runs a program to its end. A program that cannot be started counts as failed. */
export const runAs = (
  account: PostgresAccount,
  program: string,
  args: ReadonlyArray<string>
): Effect.Effect<CommandResult> =>
  Effect.async((resume) => {
    const call = makeInvocation(account, program, args)
    // Every account can enter the root directory.
    execFile(call.command, call.args, { ...call.ids, cwd: "/", env: postgresEnvironment }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`
      resume(Effect.succeed({ ok: error === null, output: output === "" && error !== null ? error.message : output }))
    })
  })

export const findAccount = (name: string): Effect.Effect<Option.Option<PostgresAccount>> =>
  Effect.all([runAs(Self, "id", ["-u", name]), runAs(Self, "id", ["-g", name])]).pipe(
    Effect.map(([uid, gid]) =>
      uid.ok && gid.ok
        ? Option.some<PostgresAccount>(User({ name, uid: Number(uid.output), gid: Number(gid.output) }))
        : Option.none()
    )
  )
