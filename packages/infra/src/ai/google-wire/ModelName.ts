import { nameOf } from "@berth/domain/ai/ModelRoutes"

/** A model's name as Google wants it, of an id of the catalogue. */
export const wireModel = (modelId: string): string => (modelId.startsWith("google/") ? nameOf(modelId) : modelId)

/** The id in the catalogue of a name in Google's list: models/gemini-2.5-pro. */
export const catalogueId = (name: string): string => `google/${name.replace(/^models\//, "")}`
