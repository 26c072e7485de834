import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/Tool"
import { Effect, Schema } from "effect"
import { partOf } from "../Part.ts"
import type { AgentFiles } from "./AgentFiles.ts"

export const readFile = (files: AgentFiles) =>
  Tool.make({
    name: "read_file",
    description: "Reads one of your files.",
    parameters: Schema.Struct({
      path: Schema.String.annotations({ description: "Relative path, for example notes/shopping.md" }),
      offset: Tool.Offset
    }),
    run: ({ offset, path }, { id }: RuntimeAgent) =>
      Effect.map(files.read(id, path), (text) => partOf(text, offset ?? 0))
  })
