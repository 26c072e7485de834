import { chatEventFrames } from "@berth/api/ai/ChatEvents"
import type { ChatCompletion, ChatOpening } from "@berth/domain/ai/calls/ChatRequest"
import type { ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import { Chunk, DateTime, Effect, Stream } from "effect"

/** The body of an answer of POST /api/ai/chat. */
export const makeChatAnswer = (
  completion: Pick<ChatCompletion, "id" | "model" | "provider" | "text" | "usage">,
  timestamp: DateTime.Utc
) => ({
  id: completion.id,
  model: completion.model,
  provider: completion.provider,
  message: { role: "assistant" as const, content: completion.text },
  usage: completion.usage,
  timestamp
})

/** The frames of an answer; the last one repeats the whole text. */
export const makeChatFrames = <E>(opening: ChatOpening, events: Stream.Stream<ModelEvent, E>) => {
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
  // One frame per chunk of events.
  return Stream.mapChunksEffect(events, (chunk) =>
    Effect.map(DateTime.now, (now) =>
      Chunk.of(
        Chunk.toReadonlyArray(chunk)
          .map((event) => frameOf(event, now))
          .join("")
      )
    )
  )
}
