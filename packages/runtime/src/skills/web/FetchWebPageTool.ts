import * as Tool from "@berth/domain/skills/tools/Tool"
import { toolParameters } from "@berth/domain/skills/tools/ToolParameters"
import { Effect } from "effect"
import { textPageLength, paginateText } from "../TextPage.ts"
import type { TurnAgent } from "../Toolbox.ts"
import { readPage } from "./PageReading.ts"
import type { PageSource } from "./PageSource.ts"

/** Maximum characters of a page, readable in parts. */
const maximumPageCharacters = 1_000_000

export const makeFetchWebPageTool = (pages: PageSource["Type"]) =>
  Tool.make({
    name: "fetch_web_page",
    description: "Reads the text of a public web page.",
    parameters: toolParameters.fetch_web_page,
    timeout: "15 seconds",
    run: ({ offset = 0, url }, turn: TurnAgent) =>
      Effect.gen(function* () {
        // One more character reveals whether the text continues.
        const wanted = Math.min(maximumPageCharacters, offset + textPageLength + 1)
        const page = yield* pages.open(turn, url)
        const { text, title } = yield* readPage(page, wanted)
        const part = text.trim() === "" ? "[The page has no text.]" : paginateText(text, offset)
        return [`Address: ${page.url.href}`, ...(title === "" ? [] : [`Title: ${title}`]), "", part].join("\n")
      }).pipe(Effect.mapError(({ reason }) => new Tool.ToolFailed({ reason })))
  })
