import type { AgentId } from "@berth/domain/shared/AgentId"
import { Effect } from "effect"
import { lstat, readdir } from "node:fs/promises"
import { type FileOperationFailed, isFileMissing, tryFileOperation } from "./HostFiles.ts"

/**
 * Lists the entries of an agents' directory that belong to none of these agents. The instance can replace the directory
 * with a link.
 */
export const listOtherAgents = (
  agents: string,
  kept: ReadonlyArray<AgentId>
): Effect.Effect<ReadonlyArray<string>, FileOperationFailed> =>
  tryFileOperation(`reading ${agents}`, async () => ((await lstat(agents)).isDirectory() ? readdir(agents) : [])).pipe(
    Effect.catchIf(isFileMissing, () => Effect.succeed<ReadonlyArray<string>>([])),
    Effect.map((names) => {
      const ids = new Set<string>(kept)
      return names.filter((name) => !ids.has(name))
    })
  )
