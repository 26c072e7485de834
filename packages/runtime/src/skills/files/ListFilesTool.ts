import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { Effect, Schema } from "effect"
import type { AgentFiles } from "./AgentFiles.ts"

/** Lines of a list. */
const maximumLines = 500

export const makeListFilesTool = (files: AgentFiles) =>
  Tool.make({
    name: "list_files",
    description: "Lists your files with their sizes.",
    parameters: Schema.Struct({
      folder: Schema.optional(
        Schema.String.annotations({
          description: "Only what is below this folder, for example notes. Default: everything."
        })
      )
    }),
    run: ({ folder }, { id }: RuntimeAgent) =>
      Effect.map(files.list(id), (all) => {
        const prefix = (folder ?? "").replace(/^(\.?\/)+|\/+$/g, "")
        const found = prefix === "" || prefix === "." ? all : all.filter(({ path }) => path.startsWith(`${prefix}/`))
        if (found.length === 0) return "There are no files."
        const lines = found
          .slice(0, maximumLines)
          .map(({ bytes, path }) => (bytes === null ? `${path}/` : `${path} (${bytes} bytes)`))
        return [
          ...lines,
          ...(found.length > maximumLines ? [`[and ${found.length - maximumLines} more: name a folder]`] : [])
        ].join("\n")
      })
  })
