import { Data, Either } from "effect"

export class ModelNotAllowed extends Data.TaggedError("ModelNotAllowed")<{
  readonly model: string
  readonly allowed: ReadonlyArray<string>
}> {}
export class CustomModelMissing extends Data.TaggedError("CustomModelMissing")<object> {}

interface ModelChoice {
  readonly model: string
  readonly customModel: string | null
}

/** Provider and model, separated by a slash, without blanks. The model may contain slashes. */
const customModelPattern = /^[^\s/]+(?:\/[^\s/]+)+$/

/** `allowed` is `AGENT_MODELS`, the default first. `custom` requires a `customModel` of the form provider/model. */
export const resolveAgentModel = (
  allowed: ReadonlyArray<string>,
  requested: { readonly model?: string | undefined; readonly customModel?: string | null | undefined }
): Either.Either<ModelChoice, ModelNotAllowed | CustomModelMissing> => {
  const model = requested.model ?? allowed[0] ?? "custom"
  if (model === "custom") {
    const customModel = requested.customModel?.trim() ?? ""
    return customModelPattern.test(customModel)
      ? Either.right({ model, customModel })
      : Either.left(new CustomModelMissing())
  }
  return allowed.includes(model)
    ? Either.right({ model, customModel: null })
    : Either.left(new ModelNotAllowed({ model, allowed: [...allowed, "custom"] }))
}
