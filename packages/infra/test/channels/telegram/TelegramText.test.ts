import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { checkTelegramHtml } from "../../../../../test/fakes/channels/TelegramHtmlCheck.ts"
import { splitForDiscord } from "../../../src/channels/discord/DiscordMarkdown.ts"
import { findOpenFence, splitMarkdown } from "../../../src/channels/MarkdownSplit.ts"
import { translateMarkdown } from "../../../src/channels/telegram/TelegramHtml.ts"
import { maximumTextLength, splitForTelegram } from "../../../src/channels/telegram/TelegramText.ts"
import { splitForWhatsApp } from "../../../src/channels/whatsapp/WhatsAppMarkdown.ts"

/** Texts with Markdown syntax at valid and invalid positions. */
const markdown = FastCheck.array(
  FastCheck.oneof(
    FastCheck.constantFrom(
      ...'** * _ __ ~~ ` `` ``` ~~~ [ ]( ) http://x.y < > & " # - + \\ | ! () 😀 é'.split(" "),
      "\n",
      "\n\n",
      " ",
      "```ts\n",
      "\n```\n",
      "~~~~\n",
      "[label](https://example.com/?a=1&b=2)",
      "**bold _both_**",
      "\u{1F469}\u200D\u{1F4BB}"
    ),
    FastCheck.string({ unit: "grapheme", maxLength: 60 }),
    FastCheck.lorem({ maxCount: 30 })
  ),
  { maxLength: 80 }
).map((pieces) => pieces.join(""))

const check = <T>(property: FastCheck.IProperty<T>, runs = 300) => FastCheck.assert(property, { numRuns: runs })

describe("splitMarkdown", () => {
  it("splitMarkdown keeps every unit, the limit, surrogate pairs and closed code blocks", () => {
    check(
      FastCheck.property(markdown, (text) => {
        for (const limit of [128, 200, 4096]) {
          const pieces = splitMarkdown(text, limit)
          assert.strictEqual(pieces.map((piece) => piece.text).join(""), text)
          for (const piece of pieces) {
            const whole = `${piece.prefix}${piece.text}${piece.suffix}`
            assert.isAtMost(whole.length, limit)
            assert.isAbove(piece.text.length, 0)
            assert.isUndefined(findOpenFence(whole), whole)
            if (text.isWellFormed()) assert.isTrue(piece.text.isWellFormed())
          }
        }
      })
    )
  })

  it("splitMarkdown cuts between paragraphs, lines, sentences and words before it cuts a word", () => {
    const paragraph = `${"word ".repeat(19)}end.`
    const text = Array.from({ length: 6 }, () => paragraph).join("\n\n")
    for (const { text: piece } of splitMarkdown(text, 256).slice(0, -1))
      assert.isTrue(piece.endsWith("end.\n\n"), piece)
    for (const { text: piece } of splitMarkdown("word ".repeat(100), 128).slice(0, -1))
      assert.isTrue(piece.endsWith(" "))
    assert.lengthOf(splitMarkdown("x".repeat(1000), 128), 9)
  })

  it("splitMarkdown never cuts a surrogate pair", () => {
    for (const before of ["", "x"])
      for (const { text } of splitMarkdown(`${before}${"😀".repeat(300)}`, 128)) assert.isTrue(text.isWellFormed())
  })

  it("splitMarkdown reopens a cut code block with its language", () => {
    const code = Array.from({ length: 40 }, (_, line) => `const value${line} = ${line}`).join("\n")
    const pieces = splitMarkdown(`Look:\n\`\`\`ts\n${code}\n\`\`\`\nDone.`, 256)
    assert.isAbove(pieces.length, 3)
    for (const { prefix } of pieces.slice(1, -1)) assert.strictEqual(prefix, "```ts\n")
    for (const { suffix } of pieces.slice(0, -1)) assert.match(suffix, /^\n?```$/)
  })
})

describe("translateMarkdown", () => {
  it("translateMarkdown always returns valid Telegram HTML, and no longer text", () => {
    check(
      FastCheck.property(markdown, (text) => {
        const checked = checkTelegramHtml(translateMarkdown(text))
        if ("problem" in checked) assert.fail(`${checked.problem}: ${JSON.stringify(text)}`)
        assert.isAtMost(checked.visible.length, text.length)
      }),
      1000
    )
  })

  it.each([
    ["**bold** and __bold__", "<b>bold</b> and <b>bold</b>"],
    ["*italic* and _italic_", "<i>italic</i> and <i>italic</i>"],
    ["**bold _both_**", "<b>bold <i>both</i></b>"],
    ["~~gone~~ `a < b`", "<s>gone</s> <code>a &lt; b</code>"],
    ["snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"],
    ["# Title", "<b>Title</b>"],
    ["- one\n* two", "• one\n• two"],
    ["[a](https://x.y/?a=1&b=2)", '<a href="https://x.y/?a=1&amp;b=2">a</a>'],
    ["[a](javascript:alert)", "[a](javascript:alert)"],
    ["```ts\nif (a < b) **c**\n```", '<pre><code class="language-ts">if (a &lt; b) **c**</code></pre>'],
    ["```\nplain", "<pre>plain</pre>"],
    ["1 < 2 & 3", "1 &lt; 2 &amp; 3"]
  ])("translateMarkdown of %j is %j", (source, html) => {
    assert.strictEqual(translateMarkdown(source), html)
  })

  it.each([
    ["translateMarkdown", translateMarkdown],
    ["splitForWhatsApp", splitForWhatsApp],
    ["splitForDiscord", splitForDiscord]
  ])("%s of hostile texts takes linear time", (_, translate) => {
    const units = ["**", "*a ", "_a ", "[", "`", "~~", "](", "**a", "__ "]
    const blank = " ".repeat(900)
    for (const text of [...units.map((unit) => unit.repeat(2048).slice(0, 4096)), `#### ${blank}a${blank}\rb`]) {
      const began = process.cpuUsage().user
      translate(text)
      assert.isBelow(process.cpuUsage().user - began, 500_000, text.slice(0, 10))
    }
  })
})

describe("splitForTelegram", () => {
  it("splitForTelegram has parts that Telegram accepts, none for a blank text", () => {
    assert.deepStrictEqual(splitForTelegram(" \n "), [])
    check(
      FastCheck.property(FastCheck.array(markdown, { minLength: 1, maxLength: 12 }), (texts) => {
        for (const { formatted, plain } of splitForTelegram(texts.join("\n"))) {
          const checked = checkTelegramHtml(formatted)
          const visible = "visible" in checked ? checked.visible : ""
          assert.notStrictEqual(visible.trim(), "")
          assert.isAtMost(visible.length, maximumTextLength)
          assert.isAtMost(plain.length, maximumTextLength)
          assert.notStrictEqual(plain.trim(), "")
        }
      }),
      100
    )
  })
})
