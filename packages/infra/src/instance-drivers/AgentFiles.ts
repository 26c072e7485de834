import type { AgentId } from "@berth/domain/shared/AgentId"
import { Effect } from "effect"
import { lstat, readdir } from "node:fs/promises"
import { type FileOperationFailed, isFileMissing, tryFileOperation } from "./HostFiles.ts"

/** The entries of a directory of agents' files that belong to none of these. The instance can put a link in its place. */
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
