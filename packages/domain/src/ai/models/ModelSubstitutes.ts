import { Context, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { AnsweringModel } from "./AnsweringModel.ts"

/** `served`: by a configured provider, or unknown because the AI layer is unreachable. `replaced`: by another model. */
export type ModelService =
  | { readonly type: "served" }
  | { readonly type: "replaced"; readonly answeredBy: AnsweringModel }
  | { readonly type: "unavailable" }

/** Models that answer for ids that no configured provider serves, neither by a platform key nor by the owner's. */
export class ModelSubstitutes extends Context.Tag("@berth/ModelSubstitutes")<
  ModelSubstitutes,
  { readonly find: (owner: UserId, model: string) => Effect.Effect<ModelService> }
>() {}
