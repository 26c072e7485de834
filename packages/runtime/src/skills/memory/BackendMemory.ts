import {
  RuntimeNote,
  runtimeNotesPath,
  RuntimeRecallQuery,
  runtimeRecallPath,
  RuntimeRecollections
} from "@berth/api/runtime/RuntimeContract"
import { Effect, Layer } from "effect"
import { type BackendAccess, decodeAnswer, makeBackendPost } from "../../Backend.ts"
import { Memory } from "./Memory.ts"

const what = "The memory"

/** The backend's memory, with the runtime token. */
export const layer = (access: BackendAccess) =>
  Layer.effect(
    Memory,
    Effect.map(makeBackendPost(access, what), (post) =>
      Memory.of({
        note: Effect.fn("Memory.note")(({ id: agentId, messageId }, text) =>
          Effect.asVoid(post(runtimeNotesPath, RuntimeNote, { agentId, messageId, text }, 204))
        ),
        recall: Effect.fn("Memory.recall")(({ id: agentId, messageId }, query) =>
          post(runtimeRecallPath, RuntimeRecallQuery, { agentId, messageId, query }).pipe(
            Effect.flatMap(decodeAnswer(RuntimeRecollections, what)),
            Effect.map(({ found }) => found)
          )
        )
      })
    )
  )
