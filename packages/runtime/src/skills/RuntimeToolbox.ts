import { runtimeAgentsDirectory } from "@berth/api/runtime/RuntimeContract"
import { calculatorTool } from "@berth/domain/skills/calculator/CalculatorTool"
import { currentTimeTool } from "@berth/domain/skills/time/CurrentTimeTool"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import * as AgentFiles from "./files/AgentFiles.ts"
import { makeDeleteFileTool } from "./files/DeleteFileTool.ts"
import { makeListFilesTool } from "./files/ListFilesTool.ts"
import { makeReadFileTool } from "./files/ReadFileTool.ts"
import { makeWriteFileTool } from "./files/WriteFileTool.ts"
import { Memory } from "./memory/Memory.ts"
import { makeRecallTool } from "./memory/RecallTool.ts"
import { makeRememberTool } from "./memory/RememberTool.ts"
import { Toolbox } from "./Toolbox.ts"
import { makeFetchWebPageTool } from "./web/FetchWebPageTool.ts"
import { Internet } from "./web/Internet.ts"

export interface RuntimeToolboxOptions {
  /** The cell's own directory, absolute. */
  readonly directory: string
  /** What the files of all agents may take together, in MiB. */
  readonly diskMb: number
}

/** The toolbox with everything that this runtime can do. */
export const layer = ({ directory, diskMb }: RuntimeToolboxOptions) =>
  Layer.effect(
    Toolbox,
    Effect.gen(function* () {
      const memory = yield* Memory
      const internet = yield* Internet
      const files = yield* AgentFiles.make({
        directory: join(directory, runtimeAgentsDirectory),
        quota: diskMb * 1024 * 1024
      })
      return Toolbox.of([
        currentTimeTool,
        calculatorTool,
        makeRememberTool(memory),
        makeRecallTool(memory),
        makeListFilesTool(files),
        makeReadFileTool(files),
        makeWriteFileTool(files),
        makeDeleteFileTool(files),
        makeFetchWebPageTool(internet)
      ])
    })
  )
