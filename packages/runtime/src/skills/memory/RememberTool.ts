import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { Effect, Schema } from "effect"
import { type Memory } from "./Memory.ts"

const limit = 2_000

export const makeRememberTool = (memory: Memory["Type"]) =>
  Tool.make({
    name: "remember",
    description: "Keeps a note that you will have in later conversations.",
    parameters: Schema.Struct({
      text: Schema.String.annotations({
        description: `One fact in a sentence that is understood by itself, ${limit} characters at most.`
      })
    }),
    run: ({ text }, { id }: RuntimeAgent) => {
      const note = text.trim()
      if (note === "") return new Tool.ToolFailed({ reason: "The note is empty." })
      if (note.length > limit) return new Tool.ToolFailed({ reason: `The note is longer than ${limit} characters.` })
      return memory.note(id, note).pipe(
        Effect.as("It is noted."),
        Effect.mapError(({ reason }) => new Tool.ToolFailed({ reason }))
      )
    }
  })
