import { Effect } from "effect"
import { makeWakeup } from "../../ai/streams/ChunkSource.ts"
import { type ChunkReader, readerFromSource } from "../../ai/streams/ChunkReader.ts"
import type { Message } from "../Conversation.ts"
import type { ToolActivity } from "../../skills/tools/ToolActivity.ts"
import type { AnswerEvent, AnswerPart } from "./AnswerEvent.ts"

/**
 * Publishes the numbered events of an answer. Hot path: plain variables and a single reader. Events without a reader
 * are discarded.
 */
export interface AnswerPublication {
  /** Publishes texts and tool calls; returns the numbered parts. */
  readonly publish: (parts: ReadonlyArray<string | ToolActivity>) => ReadonlyArray<AnswerPart>
  readonly deltaCount: () => number
  readonly complete: (reply: Message) => Effect.Effect<void>
  readonly fail: (reason: string) => Effect.Effect<void>
  readonly events: ChunkReader<AnswerEvent>
}

export const makeAnswerPublication: Effect.Effect<AnswerPublication> = Effect.sync(() => {
  let count = 0
  let unread: Array<AnswerEvent> = []
  let isDone = false
  const { wait, wake } = makeWakeup(() => isDone || unread.length > 0)
  const poll = () => {
    if (unread.length === 0) return isDone ? { values: [], isDone } : null
    const values = unread
    unread = []
    return { values, isDone }
  }
  const end = (makeEvent: () => AnswerEvent) =>
    Effect.sync(() => {
      if (isDone) return
      unread.push(makeEvent())
      isDone = true
      wake()
    })
  return {
    publish: (items) => {
      const parts = items.map((part): AnswerPart => {
        count += 1
        return typeof part === "string"
          ? { type: "delta", n: count, text: part }
          : { type: "tool", n: count, call: part }
      })
      unread.push(...parts)
      wake()
      return parts
    },
    deltaCount: () => count,
    complete: (reply) => end(() => ({ type: "done", n: count + 1, reply })),
    fail: (reason) => end(() => ({ type: "failed", n: count + 1, reason })),
    events: readerFromSource({ poll, awaitMore: wait, wake })
  }
})
