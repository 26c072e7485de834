import { readRegularFile } from "@berth/infra/instance-drivers/process/HostFiles"
import { expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { execFileSync } from "node:child_process"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../../test/support/TemporaryDirectories.ts"

it.scopedLive("reads plain files, up to its limit, and nothing that only passes for one", () =>
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
    expect(yield* readRegularFile(at("plain"), 100)).toStrictEqual(Option.some("0123456789"))
    expect(yield* readRegularFile(at("plain"), 4)).toStrictEqual(Option.some("0123"))
    expect(yield* readRegularFile(at("plain"), 4, 8)).toStrictEqual(Option.some("89"))
    for (const name of ["link", "endless", "directory", "pipe", "missing"])
      expect([name, yield* readRegularFile(at(name), 100)]).toStrictEqual([name, Option.none()])
  })
)
