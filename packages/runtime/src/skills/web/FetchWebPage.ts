import * as Tool from "@berth/domain/skills/Tool"
import { Effect, Schema } from "effect"
import { partLength, partOf } from "../Part.ts"
import { fetchPage } from "./FetchPage.ts"
import type { Internet } from "./Internet.ts"

/** Characters of a page that can be read at all, part by part. */
const pageCharacters = 1_000_000

export const fetchWebPage = (internet: Internet["Type"]) =>
  Tool.make({
    name: "fetch_web_page",
    description: "Reads the text of a public web page.",
    parameters: Schema.Struct({
      url: Schema.String.annotations({ description: "The full address, for example https://example.com/page" }),
      offset: Tool.Offset
    }),
    timeout: "15 seconds",
    run: ({ offset = 0, url }) =>
      Effect.gen(function* () {
        // One character more than is shown tells whether there are any.
        const wanted = Math.min(pageCharacters, offset + partLength + 1)
        const page = yield* fetchPage(internet, url, wanted)
        const text = page.text.trim() === "" ? "[The page has no text.]" : partOf(page.text, offset)
        return [`Address: ${page.url.href}`, ...(page.title === "" ? [] : [`Title: ${page.title}`]), "", text].join(
          "\n"
        )
      })
  })
