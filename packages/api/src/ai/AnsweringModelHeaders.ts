import type { AnsweringModel } from "@berth/domain/ai/models/AnsweringModel"

/** Names of the model that answered and of the provider that ran it, on every answer whose model is known with its head. */
export const modelHeader = "x-model"
export const providerHeader = "x-provider"

/** A runtime names its model, so a name can hold characters that a header cannot. */
const toHeaderValue = (name: string) => name.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 256)

/** No headers without a known model. */
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
