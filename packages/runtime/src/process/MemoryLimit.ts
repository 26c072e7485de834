import { Data, type Duration, Effect, Schedule } from "effect"

/** The cell holds more memory than its plan gives it. */
export class MemoryLimitExceeded extends Data.TaggedError("MemoryLimitExceeded")<{
  readonly limitMb: number
  readonly residentMb: number
}> {
  override get message() {
    return `The cell holds ${this.residentMb} MB, more than the ${this.limitMb} MB it may.`
  }
}

export interface MemoryLimitOptions {
  readonly limitMb: number
  /** Resident bytes of the process. */
  readonly resident: Effect.Effect<number>
  readonly checkInterval?: Duration.DurationInput
}

/**
 * Fails when the process has grown over its limit. The engine's own limit counts the heap alone, and no limit of the
 * system's can be relied on to be there.
 */
export const enforceMemoryLimit = ({
  checkInterval,
  limitMb,
  resident
}: MemoryLimitOptions): Effect.Effect<never, MemoryLimitExceeded> =>
  resident.pipe(
    Effect.map((bytes) => Math.round(bytes / 1024 / 1024)),
    Effect.filterOrFail(
      (residentMb) => residentMb <= limitMb,
      (residentMb) => new MemoryLimitExceeded({ limitMb, residentMb })
    ),
    Effect.repeat(Schedule.spaced(checkInterval ?? "5 seconds")),
    Effect.zipRight(Effect.never)
  )
