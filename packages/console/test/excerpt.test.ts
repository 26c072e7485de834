import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { toPlainText } from "../src/excerpt.ts"

describe("Excerpts of Markdown", () => {
  const examples = [
    [
      "# Plan\n\nThis is **bold**, *it*, ***both***, ~~old~~, `code` and snake_case.",
      "Plan This is bold, it, both, old, code and snake_case."
    ],
    ["- one\n- [x] done\n2. two\n> quoted", "one done two quoted"],
    ["| a | b |\n| --- | --- |\n| 1 | 2 |", "a b 1 2"],
    ["```ts\nconst a = 1\n```\n\n---\n\nend", "const a = 1 end"],
    ["[link](https://x.example/(a)) ![picture](a.png) <https://y.example>", "link picture https://y.example"],
    ["*a **b** c*, \\*d\\*", "a b c, *d*"],
    ["2 * 3 * 4 > 5 and a < b", "2 * 3 * 4 > 5 and a < b"],
    ["Read [the guide](https://x.exam", "Read the guide"],
    ["It is **cut off", "It is cut off"]
  ] as const
  for (const [markdown, text] of examples)
    it(`An excerpt of ${JSON.stringify(markdown)} is plain text`, () => {
      assert.strictEqual(toPlainText(markdown), text)
    })

  it("An excerpt keeps text without Markdown", () => {
    const sentence = FastCheck.array(FastCheck.stringMatching(/^[A-Za-z0-9é.,:'"?]{1,12}$/), { minLength: 1 })
    FastCheck.assert(
      FastCheck.property(sentence, (words) => {
        const text = `So ${words.join(" ")}`
        assert.strictEqual(toPlainText(text), text)
      })
    )
  })
})
