import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { makeShellEnvironment, root } from "./BerthProcess.ts"
import { FirstStart, type FirstStartPart } from "./FirstStart.ts"

/** Runs the command of `npm run admin` on a data directory, without npm. */
const runAdmin = (dataDirectory: string, args: ReadonlyArray<string>) =>
  Effect.async<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resume) => {
    const child = execFile(
      process.execPath,
      [join(root, "dist", "worker.mjs"), "admin", ...args],
      {
        cwd: dataDirectory,
        env: { ...makeShellEnvironment(), DATA_DIR: dataDirectory },
        timeout: 60_000
      },
      (_error, stdout, stderr) => resume(Effect.succeed({ code: child.exitCode ?? -1, stdout, stderr }))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** `npm run admin` during a running service. */
export const adminCommand: FirstStartPart = (it) => {
  it.effect(
    "The admin command changes users of a running service over its embedded database, and audits the account of the system",
    Effect.fn(function* () {
      const { place, webUrl } = yield* FirstStart
      const admin = (...args: ReadonlyArray<string>) => runAdmin(place.dataDirectory, args)
      const account = { email: "ada@example.com", password: "correct horse battery" }
      const post = (path: string) =>
        Effect.promise(() =>
          fetch(`${webUrl}${path}`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(account)
          })
        )
      assert.strictEqual((yield* post("/api/register")).status, 200)

      const planned = yield* admin("plan", account.email, "pro", "--reason", "a courtesy", "--json")
      assert.strictEqual(planned.code, 0, planned.stderr)
      assert.deepInclude(JSON.parse(planned.stdout), { email: account.email, plan: "pro" })
      assert.strictEqual((yield* admin("credits", account.email, "5", "--reason", "goodwill")).stdout, "credits\t5\n")
      assert.strictEqual((yield* admin("credits", account.email, "--reason", "back", "--", "-9")).code, 1)

      const signIn = Effect.map(post("/api/auth/callback/credentials"), ({ status }) => status)
      assert.strictEqual((yield* admin("suspend", account.email, "--reason", "abuse")).code, 0)
      assert.strictEqual(yield* signIn, 403)
      assert.strictEqual((yield* admin("unsuspend", account.email, "--reason", "settled")).code, 0)
      assert.strictEqual(yield* signIn, 200)

      const audit = yield* admin("audit", account.email)
      assert.deepStrictEqual(
        audit.stdout
          .trim()
          .split("\n")
          .map((line) => line.split("\t")[2]),
        ["action", "user.unsuspend", "user.suspend", "user.adjust_credits", "user.change_plan"]
      )
      assert.match(audit.stdout, /\tcommand:[^\t]+\tuser\.suspend\t/)

      const unknown = yield* admin("suspend", "nobody@example.com", "--reason", "abuse")
      assert.deepStrictEqual([unknown.code, unknown.stderr], [1, "There is no such user.\n"])
      const misused = yield* admin("plan", account.email, "gold")
      assert.strictEqual(misused.code, 2)
      assert.include(misused.stderr, "Usage: npm run admin")
      assert.include((yield* admin("--help")).stdout, "confirm-email")
    })
  )
}
