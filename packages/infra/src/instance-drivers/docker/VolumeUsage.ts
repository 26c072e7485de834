import { Effect, Option } from "effect"
import { access, constants } from "node:fs/promises"
import { beginDiskCount, continueDiskCount, maximumEntries } from "../DiskUsage.ts"
import type { FileOperationFailed } from "../HostFiles.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import type { EngineError } from "./EngineErrors.ts"

export interface VolumeUsage {
  readonly bytes: number
  readonly entries: number
}

const isReadable = (directory: string) =>
  Effect.promise(() =>
    access(directory, constants.R_OK | constants.X_OK).then(
      () => true,
      () => false
    )
  )

/**
 * The size of a volume, counted up to `enough` bytes where this process can read it. Elsewhere the engine measures it, which counts
 * neither entries nor the size of an empty file.
 */
export const measureVolume = (
  engine: DockerEngine,
  volume: string,
  enough: number
): Effect.Effect<VolumeUsage, EngineError | FileOperationFailed> =>
  Effect.gen(function* () {
    const found = yield* engine.inspectVolume(volume)
    if (Option.isNone(found)) return { bytes: 0, entries: 0 }
    const { Mountpoint } = found.value
    if (!(yield* isReadable(Mountpoint))) return { bytes: (yield* engine.measureVolumes).get(volume) ?? 0, entries: 0 }
    const count = beginDiskCount(Mountpoint)
    yield* continueDiskCount(count, maximumEntries + 1, enough)
    return count
  })
