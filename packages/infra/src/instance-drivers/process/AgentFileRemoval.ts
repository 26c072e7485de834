import type { AgentId } from "@berth/domain/shared/AgentId"
import { Array, Effect } from "effect"
import { execFile } from "node:child_process"
import { lstat } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { listOtherAgents } from "../AgentFiles.ts"
import { type FileOperationFailed, tryFileOperation } from "../HostFiles.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"

const run = promisify(execFile)
const pathsPerCommand = 200

/**
 * Deletes the folders of all other agents. The instance controls the folders and can create links in them, so they are
 * deleted with the instance's permissions.
 */
export const removeOtherAgents = Effect.fnUntraced(function* (
  { agents, home }: InstanceDirectory,
  kept: ReadonlyArray<AgentId>
): Effect.fn.Return<void, FileOperationFailed> {
  const others = (yield* listOtherAgents(agents, kept)).map((name) => join(agents, name))
  if (others.length === 0) return
  yield* tryFileOperation(`removing files of deleted agents in ${agents}`, async () => {
    const { gid, uid } = await lstat(home)
    const account = process.getuid?.() === 0 ? { uid, gid } : {}
    for (const paths of Array.chunksOf(others, pathsPerCommand))
      await run("/bin/rm", ["-rf", "--", ...paths], { cwd: "/", env: {}, ...account })
  })
})
