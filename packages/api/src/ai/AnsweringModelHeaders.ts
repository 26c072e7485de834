import type { AnsweringModel } from "@berth/domain/ai/models/AnsweringModel"

/** Headers with the answering model and its provider, on every answer whose model is known with the response head. */
export const modelHeader = "x-model"
export const providerHeader = "x-provider"

/** The model's name comes from a runtime, so it can contain characters invalid in a header. */
const toHeaderValue = (name: string) => name.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 256)

/** Returns no headers for an unknown model. */
export const makeAnsweringModelHeaders = (answeredBy: AnsweringModel | undefined): Record<string, string> =>
  answeredBy === undefined
    ? {}
    : { [modelHeader]: toHeaderValue(answeredBy.model), [providerHeader]: toHeaderValue(answeredBy.provider) }

export const readAnsweringModelHeaders = (
  headers: Readonly<Record<string, string | undefined>>
): AnsweringModel | undefined => {
  const { [modelHeader]: model, [providerHeader]: provider } = headers
  return model === undefined || provider === undefined ? undefined : { model, provider }
}
