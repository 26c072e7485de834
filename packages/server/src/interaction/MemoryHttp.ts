import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { makeMatch, makeNote } from "@berth/api/interaction/MemoryApi"
import { WebApi } from "@berth/api/WebApi"
import { ConversationRecords } from "@berth/domain/interaction/conversations/ConversationRecords"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

const memoryOwner = Effect.map(OwnedAgent, ({ agent, user }) => ({ agentId: agent.id, userId: user.id }))

export const layer = group(WebApi, "memory", (handlers) =>
  Effect.map(Effect.all([Memories, ConversationRecords]), ([memories, records]) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const { notes, total } = yield* memories.listNotes(yield* memoryOwner, urlParams)
          return { notes: notes.map(makeNote), total, ...urlParams }
        })
      )
      .handle("create", ({ payload: { text } }) =>
        Effect.gen(function* () {
          return { note: makeNote(yield* memories.addNote(yield* memoryOwner, text)) }
        })
      )
      .handle("remove", ({ path: { noteId } }) =>
        Effect.gen(function* () {
          yield* memories.removeNote(yield* memoryOwner, noteId)
        })
      )
      .handle("search", ({ urlParams: { query } }) =>
        Effect.gen(function* () {
          return { matches: (yield* records.searchMemory(yield* memoryOwner, query)).map(makeMatch) }
        }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
      )
  )
)
