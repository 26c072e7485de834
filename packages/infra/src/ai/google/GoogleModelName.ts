import { parseModelName } from "@berth/domain/ai/models/ModelRoutes"

export const toGoogleModelName = (modelId: string): string =>
  modelId.startsWith("google/") ? parseModelName(modelId) : modelId

/** Returns the catalog id of a name in Google's list, for example models/gemini-2.5-pro. */
export const fromGoogleModelName = (name: string): string => `google/${name.replace(/^models\//, "")}`
