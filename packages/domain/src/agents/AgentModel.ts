import { Data, Either } from "effect"

/** The model an agent asked for cannot be chosen. */
export class ModelNotAllowed extends Data.TaggedError("ModelNotAllowed")<{
  readonly model: string
  readonly allowed: ReadonlyArray<string>
}> {}
export class CustomModelMissing extends Data.TaggedError("CustomModelMissing")<object> {}

export interface ModelChoice {
  readonly model: string
  readonly customModel: string | null
}

/** `allowed` is `AGENT_MODELS`, the first one the default; `custom` needs the id of a model of the catalogue beside it. */
export const resolveAgentModel = (
  allowed: ReadonlyArray<string>,
  asked: { readonly model?: string | undefined; readonly customModel?: string | null | undefined }
): Either.Either<ModelChoice, ModelNotAllowed | CustomModelMissing> => {
  const model = asked.model ?? allowed[0] ?? "custom"
  if (model === "custom") {
    const customModel = asked.customModel?.trim() ?? ""
    return customModel.includes("/") ? Either.right({ model, customModel }) : Either.left(new CustomModelMissing())
  }
  return allowed.includes(model)
    ? Either.right({ model, customModel: null })
    : Either.left(new ModelNotAllowed({ model, allowed: [...allowed, "custom"] }))
}
