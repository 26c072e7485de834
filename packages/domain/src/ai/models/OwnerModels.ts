import { Context, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import type { AnsweringModel } from "./AnsweringModel.ts"

/** `served`: by a configured provider, or unknown because the AI layer is unreachable. `replaced`: by another model. */
export type ModelService =
  | { readonly type: "served" }
  | { readonly type: "replaced"; readonly answeredBy: AnsweringModel }
  | { readonly type: "unavailable" }

/** How the AI layer would answer an owner's call of a model. */
export class OwnerModels extends Context.Tag("@berth/OwnerModels")<
  OwnerModels,
  {
    /** Whether the owner's own keys run the model; false if unknown. */
    readonly isCoveredByOwnKeys: (owner: UserId, model: string) => Effect.Effect<boolean>
    /** Whether the model that answers accepts images; true if unknown, since the call reports the failure itself. */
    readonly acceptsImages: (owner: UserId, model: string) => Effect.Effect<boolean>
    /** Finds the model that answers if no provider serves this one, neither by a platform key nor by the owner's. */
    readonly findService: (owner: UserId, model: string) => Effect.Effect<ModelService>
  }
>() {}
