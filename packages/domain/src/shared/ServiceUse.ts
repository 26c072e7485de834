import { Context, Effect } from "effect"

interface UseService {
  <I, S, A, E, R>(tag: Context.Reference<I, S>, use: (service: S) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R>
  <I, S, A, E, R>(tag: Context.Tag<I, S>, use: (service: S) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R | I>
}

/** Hot path: uses a service in one operation; `Effect.flatMap` of its tag takes four. */
export const useService: UseService = <I, S, A, E, R>(
  tag: Context.Tag<I, S>,
  use: (service: S) => Effect.Effect<A, E, R>
) => Effect.withFiberRuntime<A, E, R>(({ currentContext }) => use(Context.unsafeGet(currentContext, tag)))
