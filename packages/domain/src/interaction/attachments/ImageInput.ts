import { Context, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** Whether the model that answers for an id accepts images. */
export class ImageInput extends Context.Tag("@berth/ImageInput")<
  ImageInput,
  { readonly isAccepted: (owner: UserId, model: string) => Effect.Effect<boolean> }
>() {}
