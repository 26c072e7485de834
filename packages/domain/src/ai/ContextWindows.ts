import { Context, Effect } from "effect"

/** How many tokens the model behind an id takes at once. */
export class ContextWindows extends Context.Reference<ContextWindows>()("@berth/ContextWindows", {
  defaultValue: () => ({ of: (_model: string): Effect.Effect<number> => Effect.succeed(128_000) })
}) {}
