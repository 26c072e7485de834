import { Context, Data, type Duration, type Option } from "effect"

/** A defect: a dependency is unavailable or overloaded. Responses become 503 with `Retry-After`. */
export class DependencyUnavailable extends Data.TaggedError("DependencyUnavailable")<{
  /** Logged name of the dependency. */
  readonly dependency: string
  readonly retryAfter: Duration.Duration
}> {
  override readonly message = `${this.dependency} is unavailable`
}

/** Distinguishes outages of dependencies from bugs among defects. */
export class OutageDetector extends Context.Tag("@berth/OutageDetector")<
  OutageDetector,
  { readonly detect: (defect: unknown) => Option.Option<DependencyUnavailable> }
>() {}
