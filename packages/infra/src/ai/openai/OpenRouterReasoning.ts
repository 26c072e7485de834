import { Array, Option, Schema } from "effect"
import { type CompletedToolCall, placeholderSignature, requiresCallSignatures } from "../vendor/VendorConversation.ts"
import { ReasoningDetail } from "./OpenAiBodies.ts"

const Details = Schema.parseJson(Schema.Array(ReasoningDetail))

/** Returns the `reasoning_details` that must be sent back with the calls. */
export const readEncryptedReasoning = (details: ReadonlyArray<unknown>): ReadonlyArray<ReasoningDetail> =>
  Array.filterMap(details, (detail) => Schema.decodeUnknownOption(ReasoningDetail)(detail))

export const encodeReasoningSignature = (details: ReadonlyArray<ReasoningDetail>): string | null =>
  details.length === 0 ? null : JSON.stringify(details)

/**
 * Restores the reasoning before the calls of a message; uses a placeholder if the model requires reasoning and none is
 * stored.
 */
export const restoreReasoning = (
  modelId: string,
  calls: ReadonlyArray<CompletedToolCall>
): ReadonlyArray<ReasoningDetail> => {
  const signature = calls.find((call) => call.signature !== null)?.signature
  const known =
    signature?.provider === "openrouter" && signature.model === modelId
      ? Schema.decodeUnknownOption(Details)(signature.data)
      : Option.none()
  return Option.getOrElse(known, () =>
    requiresCallSignatures(modelId)
      ? calls.slice(0, 1).map(({ id }) => ({
          type: "reasoning.encrypted" as const,
          data: placeholderSignature,
          id,
          format: "google-gemini-v1",
          index: 0
        }))
      : []
  )
}
