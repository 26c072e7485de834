import {
  FileOperationFailed,
  findTemporaryDirectory,
  isHostFault,
  readRegularFile
} from "@berth/infra/instance-drivers/HostFiles"
import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { execFileSync } from "node:child_process"
import { realpathSync } from "node:fs"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../test/support/TemporaryDirectories.ts"

it("FileOperationFailed describes the repair of the host for errors of the host only", () => {
  const failure = (code: string) => new FileOperationFailed({ operation: "writing /a", cause: { code } })
  assert.strictEqual(failure("ENOSPC").message, "writing /a failed (ENOSPC). The disk is full: free space on it.")
  assert.strictEqual(failure("ENOENT").message, "writing /a failed (ENOENT)")
  assert.deepStrictEqual(
    ["ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ENOENT", "EACCES", "ELOOP", "toString"].filter((code) =>
      isHostFault(failure(code))
    ),
    ["ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE"]
  )
})

it("findTemporaryDirectory returns /tmp for a directory that has been removed", () => {
  assert.strictEqual(findTemporaryDirectory("/nonexistent/x"), realpathSync("/tmp"))
  assert.strictEqual(findTemporaryDirectory("/usr"), realpathSync("/usr"))
})

it.scopedLive("readRegularFile reads regular files up to its limit, and no links, pipes or directories", () =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const at = (name: string) => join(directory, name)
    yield* Effect.promise(async () => {
      await writeFile(at("plain"), "0123456789")
      await symlink(at("plain"), at("link"))
      await symlink("/dev/zero", at("endless"))
      await mkdir(at("directory"))
      execFileSync("mkfifo", [at("pipe")])
    })
    assert.deepStrictEqual(yield* readRegularFile(at("plain"), 100), Option.some("0123456789"))
    assert.deepStrictEqual(yield* readRegularFile(at("plain"), 4), Option.some("0123"))
    assert.deepStrictEqual(yield* readRegularFile(at("plain"), 4, 8), Option.some("89"))
    for (const name of ["link", "endless", "directory", "pipe", "missing"])
      assert.deepStrictEqual([name, yield* readRegularFile(at(name), 100)], [name, Option.none()])
  })
)
