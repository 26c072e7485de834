import { Context, Effect, Option } from "effect"
import type { UserId } from "../shared/UserId.ts"

/** Origin of the current request, for limits, logs and calls to other processes. */
export interface CallerContext {
  readonly address: Option.Option<string>
  readonly userAgent: Option.Option<string>
  readonly requestId: Option.Option<string>
  /** None until the request is authenticated. */
  readonly user: Effect.Effect<Option.Option<UserId>>
  readonly identify: (user: UserId) => Effect.Effect<void>
}

/** Empty outside of a request. */
export class Caller extends Context.Reference<Caller>()("@berth/Caller", {
  defaultValue: (): CallerContext => ({
    address: Option.none(),
    userAgent: Option.none(),
    requestId: Option.none(),
    user: Effect.succeedNone,
    identify: () => Effect.void
  })
}) {}

interface RequestOrigin extends Pick<CallerContext, "address" | "requestId"> {
  readonly user?: Option.Option<UserId>
  readonly userAgent?: Option.Option<string>
}

export const makeCaller = ({
  address,
  requestId,
  user = Option.none(),
  userAgent = Option.none()
}: RequestOrigin): CallerContext => {
  let known = user
  return {
    address,
    userAgent,
    requestId,
    user: Effect.sync(() => known),
    identify: (authenticated) =>
      Effect.sync(() => {
        known = Option.some(authenticated)
      })
  }
}
