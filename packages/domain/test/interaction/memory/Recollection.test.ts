import {
  deduplicateRecollections,
  makeExcerpt,
  selectMemories,
  type MemoryNote,
  type RecalledMessage,
  formatRecollection
} from "@berth/domain/interaction/memory/Recollection"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, FastCheck } from "effect"

const at = DateTime.unsafeMake(Date.UTC(2026, 4, 17, 23, 59))
const note = (text: string): MemoryNote => ({ kind: "note", text, at })
const recalled = (text: string, sender: RecalledMessage["sender"] = "user"): RecalledMessage => ({
  kind: "message",
  sender,
  text,
  at
})

const text = FastCheck.string({ unit: "binary", maxLength: 1_200 })
const words = FastCheck.array(FastCheck.constantFrom("lighthouse", "fog", "是", "😀", "to", "boat", "e\u0301"), {
  maxLength: 400
}).map((parts) => parts.join(" "))
const texts = FastCheck.oneof(text, words)

describe("makeExcerpt", () => {
  it.prop(
    "makeExcerpt is a part of the text, no longer than allowed, without half characters",
    [words, words],
    ([whole, question]) => {
      const excerpt = makeExcerpt(whole, question)
      return (
        excerpt.length <= 500 &&
        excerpt.isWellFormed() &&
        whole.includes(excerpt.replace(/^…|…$/g, "")) &&
        (whole.trim().length > 500 || excerpt === whole.trim())
      )
    }
  )

  it.prop(
    "makeExcerpt accepts any text",
    [text, text],
    ([whole, question]) => makeExcerpt(whole, question).length <= 500
  )

  it.prop(
    "makeExcerpt shows the first matching word of the question",
    [FastCheck.nat(3_000), FastCheck.nat(3_000)],
    ([before, after]) =>
      makeExcerpt(`${"x ".repeat(before)}Lighthouse${" y".repeat(after)}`, "the lighthouse?").includes("Lighthouse")
  )
})

describe("formatRecollection", () => {
  it("formatRecollection names the author of a message", () => {
    assert.strictEqual(formatRecollection(recalled("Hello."), "hello"), "User: Hello.")
    assert.strictEqual(formatRecollection(recalled("Hello.", "agent"), "hello"), "Agent: Hello.")
    assert.strictEqual(formatRecollection(note("Likes tea."), "tea"), "Likes tea.")
    assert.isAtMost(formatRecollection(recalled("tea ".repeat(1_000)), "tea").length, 500)
  })
})

describe("selectMemories", () => {
  it("selectMemories alternates notes and messages, each once", () => {
    assert.deepStrictEqual(selectMemories([note("a"), note("b"), note("c")], [recalled("x"), recalled("b")], ""), [
      "a",
      "In an earlier conversation, on 2026-05-17. User: x",
      "b",
      "c"
    ])
  })

  it.prop(
    "selectMemories stays within the budget and omits only what does not fit",
    [
      FastCheck.array(texts.map(note)),
      FastCheck.array(texts.map((content) => recalled(content))),
      FastCheck.nat(4_000)
    ],
    ([notes, others, budget]) => {
      const total = (memories: ReadonlyArray<string>) => memories.reduce((sum, { length }) => sum + length, 0)
      const memories = selectMemories(notes, others, "fog", budget)
      const all = selectMemories(notes, others, "fog", Number.MAX_SAFE_INTEGER)
      const left = all.filter((memory) => !memories.includes(memory))
      return (
        total(memories) <= budget &&
        all.length === deduplicateRecollections([...notes, ...others]).length &&
        left.every(({ length }) => total(memories) + length > budget || length > budget)
      )
    }
  )
})
