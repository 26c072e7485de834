import { Array, Option, Schema } from "effect"
import type { AnsweredCall } from "../wire/Conversation.ts"
import { foreignSignature, wantsSignatures } from "../wire/GeminiSignatures.ts"
import { ReasoningDetail } from "./WireBodies.ts"

const Details = Schema.parseJson(Schema.Array(ReasoningDetail))

/** What of a chunk's `reasoning_details` has to go back with the calls. */
export const encryptedIn = (details: ReadonlyArray<unknown>): ReadonlyArray<ReasoningDetail> =>
  Array.filterMap(details, (detail) => Schema.decodeUnknownOption(ReasoningDetail)(detail))

export const signatureOf = (details: ReadonlyArray<ReasoningDetail>): string | null =>
  details.length === 0 ? null : JSON.stringify(details)

/** What a model thought before the calls of one message, as OpenRouter gave it; a stand-in where it wants some and there is none. */
export const reasoningOf = (modelId: string, calls: ReadonlyArray<AnsweredCall>): ReadonlyArray<ReasoningDetail> => {
  const signature = calls.find((call) => call.signature !== null)?.signature
  const known =
    signature?.provider === "openrouter" && signature.model === modelId
      ? Schema.decodeUnknownOption(Details)(signature.data)
      : Option.none()
  return Option.getOrElse(known, () =>
    wantsSignatures(modelId)
      ? calls.slice(0, 1).map(({ id }) => ({
          type: "reasoning.encrypted" as const,
          data: foreignSignature,
          id,
          format: "google-gemini-v1",
          index: 0
        }))
      : []
  )
}
