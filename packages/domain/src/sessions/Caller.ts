import { Context, Effect, Option, Ref } from "effect"
import type { UserId } from "../shared/UserId.ts"

/** Who is behind the current request, as far as it is known: for limits, logs, and what is asked of other processes on its behalf. */
export interface CallerContext {
  /** The client's address. */
  readonly address: Option.Option<string>
  /** What the client calls itself. */
  readonly userAgent: Option.Option<string>
  /** None until whoever calls has proved who he is. */
  readonly user: Effect.Effect<Option.Option<UserId>>
  /** Says who it is, once that is proved. */
  readonly identify: (user: UserId) => Effect.Effect<void>
}

/** Outside of a request nobody calls. */
export class Caller extends Context.Reference<Caller>()("@berth/Caller", {
  defaultValue: (): CallerContext => ({
    address: Option.none(),
    userAgent: Option.none(),
    user: Effect.succeedNone,
    identify: () => Effect.void
  })
}) {}

export const makeCaller = (
  address: Option.Option<string>,
  user: Option.Option<UserId> = Option.none(),
  userAgent: Option.Option<string> = Option.none()
): Effect.Effect<CallerContext> =>
  Effect.map(Ref.make(user), (known) => ({
    address,
    userAgent,
    user: Ref.get(known),
    identify: (proved) => Ref.set(known, Option.some(proved))
  }))
