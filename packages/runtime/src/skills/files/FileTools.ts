import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { toolParameters } from "@berth/domain/skills/tools/ToolParameters"
import { Effect } from "effect"
import { paginateText } from "../TextPage.ts"
import type { AgentFiles } from "./AgentFiles.ts"

const maximumListedFiles = 500

const makeListFilesTool = (files: AgentFiles) =>
  Tool.make({
    name: "list_files",
    description: "Lists your files with their sizes.",
    parameters: toolParameters.list_files,
    run: ({ folder }, { id }: RuntimeAgent) =>
      Effect.map(files.list(id), (all) => {
        const prefix = (folder ?? "").replace(/^(\.?\/)+|\/+$/g, "")
        const found = prefix === "" || prefix === "." ? all : all.filter(({ path }) => path.startsWith(`${prefix}/`))
        if (found.length === 0) return "There are no files."
        const lines = found
          .slice(0, maximumListedFiles)
          .map(({ bytes, path }) => (bytes === null ? `${path}/` : `${path} (${bytes} bytes)`))
        return [
          ...lines,
          ...(found.length > maximumListedFiles
            ? [`[and ${found.length - maximumListedFiles} more: name a folder]`]
            : [])
        ].join("\n")
      })
  })

const makeReadFileTool = (files: AgentFiles) =>
  Tool.make({
    name: "read_file",
    description: "Reads one of your files.",
    parameters: toolParameters.read_file,
    run: ({ offset, path }, { id }: RuntimeAgent) =>
      Effect.map(files.read(id, path), (text) => paginateText(text, offset ?? 0))
  })

const makeWriteFileTool = (files: AgentFiles) =>
  Tool.make({
    name: "write_file",
    description: "Replaces one of your files, or creates it.",
    parameters: toolParameters.write_file,
    run: ({ content, path }, { id }: RuntimeAgent) => Effect.as(files.write(id, path, content), "The file is written.")
  })

const makeDeleteFileTool = (files: AgentFiles) =>
  Tool.make({
    name: "delete_file",
    description: "Deletes one of your files, or an empty folder.",
    parameters: toolParameters.delete_file,
    run: ({ path }, { id }: RuntimeAgent) => Effect.as(files.delete(id, path), "The file is deleted.")
  })

export const makeFileTools = (files: AgentFiles) => [
  makeListFilesTool(files),
  makeReadFileTool(files),
  makeWriteFileTool(files),
  makeDeleteFileTool(files)
]
