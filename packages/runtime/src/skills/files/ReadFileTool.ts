import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { Effect, Schema } from "effect"
import { paginateText } from "../TextPage.ts"
import type { AgentFiles } from "./AgentFiles.ts"

export const makeReadFileTool = (files: AgentFiles) =>
  Tool.make({
    name: "read_file",
    description: "Reads one of your files.",
    parameters: Schema.Struct({
      path: Schema.String.annotations({ description: "Relative path, for example notes/shopping.md" }),
      offset: Tool.Offset
    }),
    run: ({ offset, path }, { id }: RuntimeAgent) =>
      Effect.map(files.read(id, path), (text) => paginateText(text, offset ?? 0))
  })
