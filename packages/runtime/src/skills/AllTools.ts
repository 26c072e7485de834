import { cellAgentsDirectory } from "@berth/api/cell/CellContract"
import { calculate } from "@berth/domain/skills/calculator/Calculate"
import { currentTime } from "@berth/domain/skills/time/CurrentTime"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import * as AgentFiles from "./files/AgentFiles.ts"
import { deleteFile } from "./files/DeleteFile.ts"
import { listFiles } from "./files/ListFiles.ts"
import { readFile } from "./files/ReadFile.ts"
import { writeFile } from "./files/WriteFile.ts"
import { Memory } from "./memory/Memory.ts"
import { recall } from "./memory/Recall.ts"
import { remember } from "./memory/Remember.ts"
import { Toolbox } from "./Toolbox.ts"
import { fetchWebPage } from "./web/FetchWebPage.ts"
import { Internet } from "./web/Internet.ts"

export interface AllToolsOptions {
  /** The cell's own directory, absolute. */
  readonly directory: string
  /** What the files of all agents may take together, in MiB. */
  readonly diskMb: number
}

/** The toolbox with everything that this runtime can do. */
export const layer = ({ directory, diskMb }: AllToolsOptions) =>
  Layer.effect(
    Toolbox,
    Effect.gen(function* () {
      const memory = yield* Memory
      const internet = yield* Internet
      const files = yield* AgentFiles.make({
        directory: join(directory, cellAgentsDirectory),
        quota: diskMb * 1024 * 1024
      })
      return Toolbox.of([
        currentTime,
        calculate,
        remember(memory),
        recall(memory),
        listFiles(files),
        readFile(files),
        writeFile(files),
        deleteFile(files),
        fetchWebPage(internet)
      ])
    })
  )
