import { Context, type Effect } from "effect"

/** Atomic: failures, defects and interruptions roll back. Nested calls are savepoints. */
export class Transaction extends Context.Tag("@berth/Transaction")<
  Transaction,
  { readonly run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> }
>() {}
