import { Context, type Effect } from "effect"

/** The effect's writes happen together or not at all: a failure, a defect or an interruption rolls all of them back. Nested calls are savepoints. */
export class Transaction extends Context.Tag("@berth/Transaction")<
  Transaction,
  { readonly run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> }
>() {}
