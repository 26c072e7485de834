import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { appendText, findShown, listBlocks, noBlocks, splitBlocks } from "../src/blocks.ts"
import { fillDays } from "../src/usage/days.ts"

const piece = FastCheck.constantFrom(
  "word ",
  "x",
  "-",
  "-".repeat(5_000),
  "\n",
  "\n\n",
  "```\n",
  "~~~ts\n",
  "| a | b |\n",
  "- item\n",
  "   ",
  "`code`",
  "| --- | --- |\n",
  "| a | b |\n".repeat(300),
  "word ".repeat(900),
  "  - item\n".repeat(200),
  "```".repeat(300)
)
const pieces = FastCheck.array(piece, { maxLength: 60 })

describe("Blocks of Markdown", () => {
  it("Blocks are the same however their text is cut", () => {
    FastCheck.assert(
      FastCheck.property(pieces, (parts) => {
        let blocks = noBlocks
        for (const part of parts) blocks = appendText(blocks, part)
        assert.deepStrictEqual(listBlocks(blocks), splitBlocks(parts.join("")))
      }),
      {
        examples: [
          [["| a | b |\n".repeat(300), "word ".repeat(900), "| --- | --- |\n", "```".repeat(300), "x".repeat(5_000)]]
        ]
      }
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
      "```ts\none\n\ntwo\n```\n",
      "end"
    ])
  })

  it("Blocks have a bounded length, and each part of a long code fence is a fence", () => {
    const blocks = splitBlocks(`\`\`\`ts\n${"const line = 1\n".repeat(4_000)}\`\`\`\n\n${"word ".repeat(20_000)}\n`)
    for (const block of blocks) assert.isAtMost(block.length, block.includes("const") ? 17_000 : 8_000)
    const code = blocks.filter((block) => block.includes("const"))
    assert.isAbove(code.length, 2)
    for (const block of code) assert.match(block.trim(), /^```ts\n[^`]*```$/)
  })

  it("Blocks cut a long list between its items, and each part of a long table is a table", () => {
    const items = splitBlocks("- item\n  - nested\n".repeat(1_000))
    assert.isAbove(items.length, 3)
    for (const block of items) assert.match(block, /^(- item\n {2}- nested\n)+$/)
    const rows = splitBlocks(`| a | b |\n| --- | --- |\n${"| 1 | 2 |\n".repeat(1_000)}`)
    assert.isAbove(rows.length, 2)
    for (const block of rows) assert.match(block, /^\| a \| b \|\n\| --- \| --- \|\n(\| 1 \| 2 \|\n)+$/)
  })

  it("Blocks of a hostile text are little longer than it", () => {
    const many = "\n.".repeat(50_000)
    const heads = ["```" + "x".repeat(20_000), "`".repeat(20_000), `|${" a |".repeat(5_000)}\n|${"-|".repeat(5_000)}`]
    for (const head of heads) {
      const text = head + many
      assert.isBelow(splitBlocks(text).join("").length, 1.2 * text.length)
    }
  })
})

describe("Shown blocks", () => {
  const limit = FastCheck.integer({ min: 1, max: 40 })
  const blocks = FastCheck.array(FastCheck.string({ minLength: 1, maxLength: 12 }), { minLength: 1 })

  it("Shown blocks are as many as fit the limit at their end of the text, and one at least", () => {
    FastCheck.assert(
      FastCheck.property(blocks, limit, FastCheck.boolean(), (all, limit, atEnd) => {
        const [first, end] = findShown(all, limit, atEnd)
        const lengthOf = (from: number, to: number) => all.slice(from, to).join("").length
        assert.isBelow(first, end)
        assert.strictEqual(atEnd ? end : first, atEnd ? all.length : 0)
        if (end - first > 1) assert.isAtMost(lengthOf(first, end), limit)
        if (end - first < all.length) assert.isAbove(atEnd ? lengthOf(first - 1, end) : lengthOf(first, end + 1), limit)
      })
    )
  })
})

describe("Days of usage", () => {
  it("Days of usage are all days of the period, the last one last", () => {
    const found = [
      { day: "2026-03-02", units: 5 },
      { day: "2026-02-28", units: 4 }
    ]
    assert.deepStrictEqual(fillDays(found, 3, Date.parse("2026-03-02T12:00:00.000Z")), [
      { day: "Feb 28", units: 4 },
      { day: "Mar 1", units: 0 },
      { day: "Mar 2", units: 5 }
    ])
  })
})
