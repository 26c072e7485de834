import { calculatorTool } from "@berth/domain/skills/calculator/CalculatorTool"
import { currentTimeTool } from "@berth/domain/skills/time/CurrentTimeTool"
import { Effect, Layer } from "effect"
import { A2aBackend, WalletBackend } from "./BackendCalls.ts"
import * as AgentFiles from "./files/AgentFiles.ts"
import { makeFileTools } from "./files/FileTools.ts"
import { Memory } from "./memory/Memory.ts"
import { makeRecallTool, makeRememberTool } from "./memory/MemoryTools.ts"
import { Toolbox } from "./Toolbox.ts"
import { makeFetchWebPageTool } from "./web/FetchWebPageTool.ts"
import { makeA2aTools } from "./a2a/A2aTools.ts"
import { makeWalletTools } from "./wallet/WalletTools.ts"
import { PageSource } from "./web/PageSource.ts"

interface RuntimeToolboxOptions {
  /** Folder of all agents, absolute. */
  readonly agentsDirectory: string
  /** Quota of all agents' files in MiB. */
  readonly diskMb: number
}

/** All tools of this runtime. */
export const layer = ({ agentsDirectory, diskMb }: RuntimeToolboxOptions) =>
  Layer.effect(
    Toolbox,
    Effect.gen(function* () {
      const memory = yield* Memory
      const pages = yield* PageSource
      const files = yield* AgentFiles.make({
        directory: agentsDirectory,
        quota: diskMb * 1024 * 1024
      })
      return Toolbox.of([
        currentTimeTool,
        calculatorTool,
        makeRememberTool(memory),
        makeRecallTool(memory),
        ...makeFileTools(files),
        makeFetchWebPageTool(pages),
        ...makeWalletTools(yield* WalletBackend),
        ...makeA2aTools(yield* A2aBackend)
      ])
    })
  )
