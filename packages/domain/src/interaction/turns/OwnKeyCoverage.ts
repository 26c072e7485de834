import { Context, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** Whether the owner's own keys run a model. */
export class OwnKeyCoverage extends Context.Tag("@berth/OwnKeyCoverage")<
  OwnKeyCoverage,
  { readonly covers: (owner: UserId, model: string) => Effect.Effect<boolean> }
>() {}
