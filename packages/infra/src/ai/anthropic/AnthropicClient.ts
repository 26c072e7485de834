import { Effect, Either, Schema } from "effect"
import { makeEventReader, readAnswerStream, type VendorEvent } from "../vendor/AnswerStream.ts"
import { readModelList } from "../vendor/VendorBodies.ts"
import { makeVendorClient, type VendorAccess } from "../vendor/VendorClient.ts"
import type { VendorFailure } from "../vendor/VendorErrors.ts"
import type { VendorModelClient } from "../vendor/VendorModelProvider.ts"
import { readAnthropicAnswer } from "./AnthropicAnswer.ts"
import { AnthropicAnswerEvent, AnthropicStreamEvent, readAnthropicDelta } from "./AnthropicBodies.ts"
import { classifyAnthropicFailure, readAnthropicError, readAnthropicErrorBody } from "./AnthropicErrors.ts"
import { makeAnthropicRequest } from "./AnthropicRequest.ts"

/** Header `anthropic-version`; the address has a separate version. */
const protocolVersion = "2023-06-01"

/** The vendor's maximum. */
const maximumListLength = 1000

const isAnswerEvent = Schema.is(AnthropicAnswerEvent)

const readStream = readAnswerStream<AnthropicAnswerEvent>({
  read: makeEventReader(
    AnthropicStreamEvent,
    (event): Either.Either<VendorEvent<AnthropicAnswerEvent>, VendorFailure> => {
      if ("error" in event) return Either.left(readAnthropicError(event.error, null, undefined))
      if (isAnswerEvent(event)) return Either.right({ type: "chunk", chunk: event })
      return Either.right({ type: event.type === "message_stop" ? "done" : "keep-alive" })
    },
    readAnthropicDelta
  ),
  isLast: ({ type }) => type === "done"
})

/** Anthropic's API. */
export const makeAnthropicClient = (access: VendorAccess): VendorModelClient => {
  const { post, probe, read } = makeVendorClient({
    ...access,
    keyHeader: "x-api-key",
    headers: { "anthropic-version": protocolVersion },
    readError: readAnthropicErrorBody
  })
  return {
    chat: (model, messages, options) => {
      const readAnswer = readAnthropicAnswer({ provider: "anthropic", model, messages })
      return post("/messages", makeAnthropicRequest(model, messages, options), (response) =>
        readAnswer(readStream(response))
      )
    },
    models: Effect.flatMap(read(`/models?limit=${maximumListLength}`), readModelList("data")),
    probe: probe("/models?limit=1"),
    classify: classifyAnthropicFailure
  }
}
