import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { Effect, Schema } from "effect"
import type { AgentFiles } from "./AgentFiles.ts"

export const makeDeleteFileTool = (files: AgentFiles) =>
  Tool.make({
    name: "delete_file",
    description: "Deletes one of your files, or an empty folder.",
    parameters: Schema.Struct({
      path: Schema.String.annotations({ description: "Relative path, for example notes/shopping.md" })
    }),
    run: ({ path }, { id }: RuntimeAgent) => Effect.as(files.delete(id, path), "It is deleted.")
  })
