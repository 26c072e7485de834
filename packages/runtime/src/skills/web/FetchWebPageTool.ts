import * as Tool from "@berth/domain/skills/tools/Tool"
import { toolParameters } from "@berth/domain/skills/tools/ToolParameters"
import { Effect } from "effect"
import { textPageLength, paginateText } from "../TextPage.ts"
import { fetchPage } from "./PageFetch.ts"
import type { Internet } from "./Internet.ts"

/** Readable characters of a page, in parts. */
const maximumPageCharacters = 1_000_000

export const makeFetchWebPageTool = (internet: Internet["Type"]) =>
  Tool.make({
    name: "fetch_web_page",
    description: "Reads the text of a public web page.",
    parameters: toolParameters.fetch_web_page,
    timeout: "15 seconds",
    run: ({ offset = 0, url }) =>
      Effect.gen(function* () {
        // One more character shows whether the text continues.
        const wanted = Math.min(maximumPageCharacters, offset + textPageLength + 1)
        const page = yield* fetchPage(internet, url, wanted)
        const text = page.text.trim() === "" ? "[The page has no text.]" : paginateText(page.text, offset)
        return [`Address: ${page.url.href}`, ...(page.title === "" ? [] : [`Title: ${page.title}`]), "", text].join(
          "\n"
        )
      })
  })
