import { BackendApi } from "@berth/api/BackendApi"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { makeOwnTurn } from "./OwnTurn.ts"

/** An instance can access only the memory of its owner's agents. */
export const layer = group(BackendApi, "runtimeMemory", (handlers) =>
  Effect.gen(function* () {
    const memories = yield* Memories
    const own = yield* makeOwnTurn

    return handlers
      .handle("note", ({ payload }) => Effect.flatMap(own(payload), (turn) => memories.noteInTurn(turn, payload.text)))
      .handle("recall", ({ payload }) =>
        Effect.gen(function* () {
          const found = yield* memories.searchInTurn(yield* own(payload), payload.query)
          return { found: found.map(({ at, kind, text }) => ({ kind, text, at: at.epochMillis })) }
        })
      )
  })
)
