import { PluginFailedBody } from "@berth/api/gateway/GatewayErrorBodies"
import type { OpenedGatewayCall } from "@berth/domain/gateway/calls/OpenedGatewayCall"
import { collectResult, PluginFailed } from "@berth/domain/gateway/plugins/PluginRun"
import { type ChunkReader, mapReader } from "@berth/domain/ai/streams/ChunkReader"
import type { ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option } from "effect"
import { makeAnswerHeaders, makeOpeningHeaders } from "../ai/AnswerHeaders.ts"
import { makeCompletion, makeCompletionFrames } from "../ai/CompletionAnswers.ts"
import type { CompletionFormat } from "./CompletionFormat.ts"
import { respondCompletionFrames } from "./CompletionStream.ts"

/** Reads the events of a call, with tool calls before the end. */
const toModelEvents = ({ events }: OpenedGatewayCall): ChunkReader<ModelEvent, PluginFailed> =>
  Effect.mapError(
    mapReader(events, (read) =>
      read.flatMap((event): ReadonlyArray<ModelEvent> => {
        if (event.type === "delta") return [event]
        const { toolCalls = [], ...ending } = event.completion ?? {}
        return [
          ...toolCalls.map((call) => ({ type: "tool-call" as const, call })),
          ...("usage" in ending ? [{ type: "done" as const, ...ending }] : [])
        ]
      })
    ),
    (failure) =>
      failure._tag === "PluginFailed" ? failure : new PluginFailed({ reason: "something went wrong on our side" })
  )

/** Responds with a generate-text call, paid by card, in one of OpenAI's protocols. */
export const respondCompletion = Effect.fnUntraced(function* (
  opened: OpenedGatewayCall,
  isStreamed: boolean,
  created: number,
  format: CompletionFormat
) {
  const opening = yield* Effect.orDie(opened.opening)
  if (isStreamed)
    return yield* respondCompletionFrames(
      format,
      { id: opening.id, model: opening.model, created },
      (frames) => Effect.succeed(makeCompletionFrames(toModelEvents(opened), frames, PluginFailedBody)),
      makeOpeningHeaders(opening)
    )
  const { completion, message } = yield* collectResult(opened.events)
  const answer = { ...opening, ...(yield* Effect.orDie(Option.fromNullable(completion))), text: message }
  return HttpServerResponse.unsafeJson(yield* format.makeBody(makeCompletion(answer, created)), {
    headers: makeAnswerHeaders(answer)
  })
})
