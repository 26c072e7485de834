import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryDirectory } from "../../support/TemporaryDirectories.ts"

const script = fileURLToPath(new URL("../../../scripts/image.mjs", import.meta.url))

it.scopedLive("The image script fails when the archive of the base image is incomplete, and removes the image", () =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const log = join(directory, "calls")
    const command = (name: string, body: string) =>
      writeFileSync(join(directory, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 })
    command(
      "docker",
      `echo "$1 $2" >> ${log}; case "$1 $2" in "image inspect") exit 1;; import*) exec cat >/dev/null;; esac`
    )
    command("tar", "echo part; exit 2")
    const { status, stderr } = spawnSync(process.execPath, [script, "--local", "--bundle", script, "--tag", "none"], {
      encoding: "utf8",
      env: { ...process.env, PATH: `${directory}:${process.env["PATH"] ?? ""}` }
    })
    const calls = spawnSync("cat", [log], { encoding: "utf8" }).stdout
    assert.deepStrictEqual([status, stderr], [1, "The base image was not imported; see above.\n"])
    assert.strictEqual(calls, "version \nimage inspect\nimport --change\nimage rm\n")
  })
)
