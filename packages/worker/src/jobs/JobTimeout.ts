import { Data, Duration, Effect } from "effect"

/** Time after which a run is interrupted and repeated, so that a hanging handler does not occupy its slot. */
export const longestRun = Duration.hours(1)

export class JobTimedOut extends Data.TaggedError("JobTimedOut")<object> {
  override readonly message = `The job did not end within ${Duration.format(longestRun)}.`
}

export const limitRun = Effect.timeoutFail({ duration: longestRun, onTimeout: () => new JobTimedOut() })
