import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { appendText, noBlocks, splitBlocks } from "../src/blocks.ts"
import { fillDays } from "../src/usage/days.ts"

const piece = FastCheck.constantFrom(
  "word ",
  "\n",
  "\n\n",
  "```\n",
  "~~~ts\n",
  "| a | b |\n",
  "- item\n",
  "   ",
  "`code`"
)
const pieces = FastCheck.array(piece, { maxLength: 60 })

describe("Blocks of Markdown", () => {
  it("Blocks are the same however their text is cut", () => {
    FastCheck.assert(
      FastCheck.property(pieces, (parts) => {
        let blocks = noBlocks
        for (const part of parts) blocks = appendText(blocks, part)
        const shown = blocks.tail.trim() === "" ? blocks.done : [...blocks.done, blocks.tail]
        assert.deepStrictEqual(shown, splitBlocks(parts.join("")))
      })
    )
  })

  it("Blocks that are complete never change again", () => {
    FastCheck.assert(
      FastCheck.property(pieces, pieces, (before, after) => {
        const early = appendText(noBlocks, before.join(""))
        const late = appendText(early, after.join(""))
        assert.deepStrictEqual(late.done.slice(0, early.done.length), early.done)
      })
    )
  })

  it("Blocks keep a code fence with its blank lines whole", () => {
    assert.deepStrictEqual(splitBlocks("text\n\n```ts\none\n\ntwo\n```\n\nend"), [
      "text\n\n",
      "```ts\none\n\ntwo\n```\n\n",
      "end"
    ])
  })

  it("Blocks have a bounded length, and each part of a long code fence is a fence", () => {
    const blocks = splitBlocks(`\`\`\`ts\n${"const line = 1\n".repeat(4_000)}\`\`\`\n\n${"word ".repeat(20_000)}`)
    for (const block of blocks) assert.isAtMost(block.length, 34_000)
    const code = blocks.filter((block) => block.includes("const"))
    assert.isAbove(code.length, 2)
    for (const block of code) assert.match(block.trim(), /^```ts\n[^`]*```$/)
  })
})

describe("Days of usage", () => {
  it("Days of usage are all days of the period, the last one last", () => {
    const found = [
      { day: "2026-03-02", units: 5 },
      { day: "2026-02-28", units: 4 }
    ]
    assert.deepStrictEqual(fillDays(found, 3, Date.parse("2026-03-02T12:00:00.000Z")), [
      { day: "02-28", units: 4 },
      { day: "03-01", units: 0 },
      { day: "03-02", units: 5 }
    ])
  })
})
