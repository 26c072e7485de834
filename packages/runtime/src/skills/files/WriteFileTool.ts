import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { Effect, Schema } from "effect"
import type { AgentFiles } from "./AgentFiles.ts"

export const makeWriteFileTool = (files: AgentFiles) =>
  Tool.make({
    name: "write_file",
    description: "Writes one of your files as a whole; what was in it before is gone.",
    parameters: Schema.Struct({
      path: Schema.String.annotations({ description: "Relative path, for example notes/shopping.md" }),
      content: Schema.String.annotations({ description: "The whole text of the file." })
    }),
    run: ({ content, path }, { id }: RuntimeAgent) => Effect.as(files.write(id, path, content), "The file is written.")
  })
