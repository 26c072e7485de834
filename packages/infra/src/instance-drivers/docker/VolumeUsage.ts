import { type Duration, Effect, Option } from "effect"
import { access, constants } from "node:fs/promises"
import { beginDiskCount, continueDiskCount, type DiskCount, maximumEntries } from "../DiskUsage.ts"
import type { FileOperationFailed } from "../HostFiles.ts"
import type { DockerEngine } from "./DockerEngine.ts"
import type { EngineError } from "./EngineErrors.ts"

export interface VolumeUsage {
  /**
   * Returns the size of a volume, counted up to `enough` bytes if this process can read it. Otherwise the engine
   * measures it, without entries and the size of empty files.
   */
  readonly measure: (volume: string, enough: number) => Effect.Effect<MeasuredVolume, EngineError | FileOperationFailed>
}

interface MeasuredVolume extends Pick<DiskCount, "bytes" | "entries"> {
  /** Directory on this host; none if unreadable by this process. */
  readonly directory: Option.Option<string>
}

/** Whether a volume's directory is on this host and readable by this process. */
export const isReadable = (directory: string) =>
  Effect.promise(() =>
    access(directory, constants.R_OK | constants.X_OK).then(
      () => true,
      () => false
    )
  )

/** The engine measures all volumes at once, so its sizes are cached for the interval. */
export const make = (
  engine: Pick<DockerEngine, "inspectVolume" | "measureVolumes">,
  interval: Duration.DurationInput
): Effect.Effect<VolumeUsage> =>
  Effect.map(Effect.cachedWithTTL(engine.measureVolumes, interval), (sizes) => ({
    measure: (volume, enough) =>
      Effect.gen(function* () {
        const details = yield* engine.inspectVolume(volume)
        if (Option.isNone(details)) return { bytes: 0, entries: 0, directory: Option.none() }
        const { Mountpoint } = details.value
        if (!(yield* isReadable(Mountpoint)))
          return { bytes: (yield* sizes).get(volume) ?? 0, entries: 0, directory: Option.none() }
        const count = beginDiskCount(Mountpoint)
        yield* continueDiskCount(count, maximumEntries + 1, enough)
        return { ...count, directory: Option.some(Mountpoint) }
      })
  }))
