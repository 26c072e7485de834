import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { maximumTaskLength, parseTaskText, formatTaskWithContext } from "@berth/domain/gateway/tasks/TaskText"
import { expect, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const content = FastCheck.oneof(FastCheck.string({ unit: "binary", maxLength: 20 }), FastCheck.constant(" "))
const message = FastCheck.oneof(
  FastCheck.record({ role: FastCheck.constantFrom("system" as const, "user" as const, "assistant" as const), content }),
  content.map((text): ChatMessage => ({ role: "tool", content: text, toolCallId: "c1", toolName: "look" }))
)

it.prop(
  "reads all that was said, in order: what to do, what was said before, and what was said about it",
  [FastCheck.array<ChatMessage>(message, { maxLength: 8 })],
  ([messages]) => {
    const said = messages.filter(({ role }) => role !== "system")
    const last = said.at(-1)
    const read = parseTaskText(messages)
    if (last?.role !== "user" || last.content.trim() === "") {
      expect(Either.isLeft(read) ? read.left.field : "it was read").toBe("messages")
      return
    }
    const { context, history, task } = Either.getOrThrow(read)
    expect(task).toBe(last.content)
    expect(history.map((one) => one.content)).toStrictEqual(
      said
        .slice(0, -1)
        .filter((one) => one.content.trim() !== "")
        .map((one) => (one.role === "tool" ? `Result of look:\n${one.content}` : one.content))
    )
    const systems = messages.filter(({ role }) => role === "system").map((one) => one.content.trim())
    expect(context).toBe(systems.filter((text) => text !== "").join("\n\n"))
    expect(formatTaskWithContext({ context, task }).endsWith(task)).toBe(true)
    expect(formatTaskWithContext({ context, task }).includes(context)).toBe(true)
  }
)

const reasonOf = (messages: ReadonlyArray<ChatMessage>) => {
  const read = parseTaskText(messages)
  return Either.isLeft(read) ? read.left.message : "it was read"
}

it("says what is wrong with messages that are no task", () => {
  const user = (text: string): ChatMessage => ({ role: "user", content: text })
  expect(reasonOf([])).toBe("messages: must have a message of the user")
  expect(reasonOf([{ role: "system", content: "Be brief." }])).toBe("messages: must have a message of the user")
  expect(reasonOf([user("hi"), { role: "assistant", content: "hello" }])).toBe(
    "messages: must end with a message of the user"
  )
  expect(reasonOf([user(" ")])).toBe("messages: must end with a message that is not empty")
  expect(reasonOf([user("x".repeat(maximumTaskLength))])).toBe("it was read")
  expect(reasonOf([{ role: "system", content: "y" }, user("x".repeat(maximumTaskLength))])).toContain("at most 100000")
  const image = { type: "image", source: { type: "url", url: "https://example.com/cat.png" } } as const
  expect(reasonOf([{ role: "user", content: "what is it?", parts: [image] }])).toContain("read no images")
})
