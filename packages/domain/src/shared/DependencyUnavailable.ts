import { Context, Data, type Duration, type Option } from "effect"

/** A defect: something that the service stands on does not answer, or has no room, for now. Any call may meet it, and none can do more about it than say when to come back. */
export class DependencyUnavailable extends Data.TaggedError("DependencyUnavailable")<{
  /** For the log. */
  readonly dependency: string
  readonly retryAfter: Duration.Duration
}> {
  override get message() {
    return `${this.dependency} is unavailable for now`
  }
}

/** Tells, of what an effect died of, whether something behind it was out of reach: everything else is a fault of our own. */
export class OutageDetector extends Context.Tag("@berth/OutageDetector")<
  OutageDetector,
  { readonly detect: (defect: unknown) => Option.Option<DependencyUnavailable> }
>() {}
