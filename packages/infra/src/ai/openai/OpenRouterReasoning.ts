import { Array, Option, Schema } from "effect"
import type { CompletedToolCall } from "../vendor/VendorConversation.ts"
import { placeholderSignature, requiresCallSignatures } from "../vendor/GeminiSignatures.ts"
import { ReasoningDetail } from "./OpenAiBodies.ts"

const Details = Schema.parseJson(Schema.Array(ReasoningDetail))

/** What of a chunk's `reasoning_details` has to go back with the calls. */
export const readEncryptedReasoning = (details: ReadonlyArray<unknown>): ReadonlyArray<ReasoningDetail> =>
  Array.filterMap(details, (detail) => Schema.decodeUnknownOption(ReasoningDetail)(detail))

export const encodeReasoningSignature = (details: ReadonlyArray<ReasoningDetail>): string | null =>
  details.length === 0 ? null : JSON.stringify(details)

/** What a model thought before the calls of one message, as OpenRouter gave it; a stand-in where it wants some and there is none. */
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
