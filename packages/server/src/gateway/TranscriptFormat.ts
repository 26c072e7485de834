import { ParameterUnsupported } from "@berth/api/ai/OpenAiErrors"
import { HttpServerResponse } from "@effect/platform"
import { Either } from "effect"
import type { CallContent } from "./CallContent.ts"

type WriteTranscript = (text: string) => HttpServerResponse.HttpServerResponse

const asJson: WriteTranscript = (text) => HttpServerResponse.unsafeJson({ text })
const asText: WriteTranscript = (text) => HttpServerResponse.text(`${text}\n`)

/** Values of OpenAI's options without effect. */
const usualValues: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["include", [""]],
  ["timestamp_granularities", [""]],
  ["stream", ["", "false"]],
  ["temperature", ["", "0", "0.0"]],
  ["chunking_strategy", ["", "auto"]]
])

/**
 * Returns the format of a transcription. Providers return text without timestamps, so formats with timestamps are
 * rejected.
 */
export const readTranscriptFormat = (content: CallContent): Either.Either<WriteTranscript, ParameterUnsupported> => {
  if (content._tag !== "Form") return Either.right(asJson)
  const { fields } = content.form
  for (const [name, value] of fields) {
    const [parameter = name] = name.split("[")
    if (usualValues.get(parameter)?.includes(value) === false)
      return Either.left(new ParameterUnsupported({ parameter, reason: "is not supported for transcriptions" }))
  }
  const format = fields.get("response_format") ?? ""
  if (format === "text") return Either.right(asText)
  return format === "" || format === "json"
    ? Either.right(asJson)
    : Either.left(
        new ParameterUnsupported({ parameter: "response_format", reason: "only json and text are supported" })
      )
}
