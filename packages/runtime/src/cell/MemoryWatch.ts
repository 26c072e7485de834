import { Data, type Duration, Effect, Schedule } from "effect"

/** The cell holds more memory than its plan gives it. */
export class MemoryIsUsedUp extends Data.TaggedError("MemoryIsUsedUp")<{
  readonly limitMb: number
  readonly residentMb: number
}> {
  override get message() {
    return `The cell holds ${this.residentMb} MB, more than the ${this.limitMb} MB it may.`
  }
}

export interface MemoryWatchOptions {
  readonly limitMb: number
  /** Resident bytes of the process. */
  readonly resident: Effect.Effect<number>
  readonly every?: Duration.DurationInput
}

/**
 * Fails when the process has grown over its limit. The engine's own limit counts the heap alone, and no limit of the
 * system's can be relied on to be there.
 */
export const memoryWatch = ({ every, limitMb, resident }: MemoryWatchOptions): Effect.Effect<never, MemoryIsUsedUp> =>
  resident.pipe(
    Effect.map((bytes) => Math.round(bytes / 1024 / 1024)),
    Effect.filterOrFail(
      (residentMb) => residentMb <= limitMb,
      (residentMb) => new MemoryIsUsedUp({ limitMb, residentMb })
    ),
    Effect.repeat(Schedule.spaced(every ?? "5 seconds")),
    Effect.zipRight(Effect.never)
  )
