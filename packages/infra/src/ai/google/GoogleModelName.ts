import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"

/** A model's name as Google wants it, of an id of the catalogue. */
export const toGoogleModelName = (modelId: string): string =>
  modelId.startsWith("google/") ? parseModelName(modelId) : modelId

/** The id in the catalogue of a name in Google's list: models/gemini-2.5-pro. */
export const fromGoogleModelName = (name: string): string => `google/${name.replace(/^models\//, "")}`
