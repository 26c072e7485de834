import { Effect } from "effect"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { limitStoredActivities, type ToolActivity } from "../../skills/tools/ToolActivity.ts"
import { MessageId } from "../Conversation.ts"
import type { PartialAnswer } from "../conversations/ConversationRepository.ts"
import { AnswerStreams } from "./AnswerStreams.ts"

/** Returns a tool call of an interrupted answer without a result. */
export const endToolCall = (call: ToolActivity): ToolActivity =>
  call.status === "running" ? { ...call, status: "failed" } : call

/** Reads the stored events of an answer without an end; undefined if no text is stored. */
export const makePartialAnswers = Effect.map(
  Effect.all([AnswerStreams, IdGenerator]),
  ([streams, ids]) =>
    (message: MessageId): Effect.Effect<PartialAnswer | undefined> =>
      Effect.gen(function* () {
        const { deltas } = yield* streams.read(message, 0)
        let content = ""
        const toolCalls = new Map<string, ToolActivity>()
        for (const part of deltas)
          if (part.type === "delta") content += part.text
          else toolCalls.set(part.call.id, part.call)
        if (content.trim() === "") return undefined
        return {
          id: MessageId.make(yield* ids.next("msg")),
          content,
          toolCalls: limitStoredActivities([...toolCalls.values()].map(endToolCall))
        }
      })
)
