import { prefersHtml } from "@berth/server/pages/HtmlPreference"
import { assert, describe, it } from "@effect/vitest"

const table: ReadonlyArray<readonly [string | undefined, boolean]> = [
  [undefined, false],
  ["", false],
  ["*/*", false],
  ["application/json", false],
  ["text/html", true],
  ["TEXT/HTML", true],
  ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true],
  ["text/*, application/json;q=0.5", true],
  ["application/json, text/html", false],
  ["application/json;q=0.1, text/html;q=0.9", true],
  ["text/html;q=0, */*", false],
  ["text/html;q=x", false],
  ["text/event-stream", false]
]

describe("Whether a page is wanted", () => {
  for (const [accept, expected] of table)
    it(`${accept ?? "nothing"}: ${expected ? "a page" : "JSON"}`, () => {
      assert.strictEqual(prefersHtml(accept), expected)
    })
})
