import { Data, Effect, Schedule } from "effect"

class MemoryLimitExceeded extends Data.TaggedError("MemoryLimitExceeded")<{
  readonly limitMb: number
  readonly residentMb: number
}> {
  override get message() {
    return `The runtime uses ${this.residentMb} MB, above its limit of ${this.limitMb} MB.`
  }
}

interface MemoryLimitOptions {
  readonly limitMb: number
  readonly resident: Effect.Effect<number>
}

/** Required since V8's limit covers the heap only, and an operating system limit may be missing. */
export const enforceMemoryLimit = ({
  limitMb,
  resident
}: MemoryLimitOptions): Effect.Effect<never, MemoryLimitExceeded> =>
  resident.pipe(
    Effect.map((bytes) => Math.round(bytes / 1024 / 1024)),
    Effect.filterOrFail(
      (residentMb) => residentMb <= limitMb,
      (residentMb) => new MemoryLimitExceeded({ limitMb, residentMb })
    ),
    Effect.repeat(Schedule.spaced("5 seconds")),
    Effect.zipRight(Effect.never)
  )
