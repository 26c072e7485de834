import { Context, Data, type Duration, type Option } from "effect"

/** A defect: something that the service stands on does not answer, or has no room, for now. Any call may meet it, and none can do more about it than say when to come back. */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  /** For the log. */
  readonly what: string
  readonly retryAfter: Duration.Duration
}> {
  override get message() {
    return `${this.what} is unavailable for now`
  }
}

/** Tells, of what an effect died of, whether something behind it was out of reach: everything else is a fault of our own. */
export class Outages extends Context.Tag("@berth/Outages")<
  Outages,
  { readonly recognise: (defect: unknown) => Option.Option<Unavailable> }
>() {}
