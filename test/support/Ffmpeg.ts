import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import type { RequiredTool } from "./RequiredTools.ts"

export const ffmpeg: RequiredTool = { name: "ffmpeg", present: spawnSync("ffmpeg", ["-version"]).status === 0 }

export const runFfmpeg = (args: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.async<string, Error>((resume) => {
    const child = execFile(
      "ffmpeg",
      ["-nostdin", "-hide_banner", "-loglevel", "error", ...args],
      { timeout: 60_000 },
      (error, stdout, stderr) =>
        resume(error === null ? Effect.succeed(stdout) : Effect.fail(new Error(`ffmpeg failed: ${stderr}`)))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  }).pipe(Effect.orDie)
