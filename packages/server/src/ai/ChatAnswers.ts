import { chatEventFrames } from "@berth/api/ai/ChatEvents"
import type { ChatCompletion, ChatOpening } from "@berth/domain/ai/calls/ChatRequest"
import type { ChunkReader } from "@berth/domain/ai/streams/ChunkReader"
import type { ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import { DateTime, Effect } from "effect"

/** Makes the response body of POST /api/ai/chat. */
export const makeChatAnswer = (
  {
    id,
    model,
    provider,
    text,
    usage: { completionTokens, promptTokens, totalTokens }
  }: Pick<ChatCompletion, "id" | "model" | "provider" | "text" | "usage">,
  timestamp: DateTime.Utc
) => ({
  id,
  model,
  provider,
  message: { role: "assistant" as const, content: text },
  usage: { promptTokens, completionTokens, totalTokens },
  timestamp
})

/** Makes the frames of an answer; the last frame repeats the complete text. */
export const makeChatFrames = <E>(opening: ChatOpening, read: ChunkReader<ModelEvent, E>): ChunkReader<string, E> => {
  const texts: Array<string> = []
  const frameOf = (event: ModelEvent, now: DateTime.Utc): string => {
    switch (event.type) {
      case "delta":
        texts.push(event.text)
        return chatEventFrames.delta(event.text)
      // This route offers no tools.
      case "tool-call":
        return ""
      case "done":
        return chatEventFrames.done({
          ...makeChatAnswer({ ...opening, ...event, text: texts.join("") }, now),
          costUsd: event.costUsd
        })
    }
  }
  return Effect.flatMap(read, (events) =>
    events === null
      ? Effect.succeed(null)
      : Effect.map(DateTime.now, (now) => events.map((event) => frameOf(event, now)))
  )
}
