import { Context, Effect } from "effect"

/** Hot path: uses a service in one operation; `Effect.flatMap` of its tag takes four. */
export const useService = <I, S, A, E, R>(
  tag: Context.Tag<I, S>,
  use: (service: S) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | I> =>
  Effect.withFiberRuntime<A, E, R | I>(({ currentContext }) => use(Context.unsafeGet(currentContext, tag)))
