import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { maximumTaskLength, parseTaskText, formatTaskWithContext } from "@berth/domain/gateway/tasks/TaskText"
import { assert, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const content = FastCheck.oneof(FastCheck.string({ unit: "binary", maxLength: 20 }), FastCheck.constant(" "))
const message = FastCheck.oneof(
  FastCheck.record({ role: FastCheck.constantFrom("system" as const, "user" as const, "assistant" as const), content }),
  content.map((text): ChatMessage => ({ role: "tool", content: text, toolCallId: "c1", toolName: "look" }))
)

it.prop(
  "parseTaskText returns the instructions, the history and the request in order",
  [FastCheck.array<ChatMessage>(message, { maxLength: 8 })],
  ([messages]) => {
    const conversation = messages.filter(({ role }) => role !== "system")
    const last = conversation.at(-1)
    const read = parseTaskText(messages)
    if (last?.role !== "user" || last.content.trim() === "") {
      assert.strictEqual(Either.isLeft(read) ? read.left.field : "it was read", "messages")
      return
    }
    const { context, history, task } = Either.getOrThrow(read)
    assert.strictEqual(task, last.content)
    assert.deepStrictEqual(
      history.map((one) => one.content),
      conversation
        .slice(0, -1)
        .filter((one) => one.content.trim() !== "")
        .map((one) => (one.role === "tool" ? `Result of look:\n${one.content}` : one.content))
    )
    const systems = messages.filter(({ role }) => role === "system").map((one) => one.content.trim())
    assert.strictEqual(context, systems.filter((text) => text !== "").join("\n\n"))
    assert.isTrue(formatTaskWithContext({ context, task }).endsWith(task))
    assert.isTrue(formatTaskWithContext({ context, task }).includes(context))
  }
)

const reasonOf = (messages: ReadonlyArray<ChatMessage>) => {
  const read = parseTaskText(messages)
  return Either.isLeft(read) ? read.left.message : "it was read"
}

it("parseTaskText names the fault of messages that are no task", () => {
  const user = (text: string): ChatMessage => ({ role: "user", content: text })
  assert.strictEqual(reasonOf([]), "messages: must have a message of the user")
  assert.strictEqual(reasonOf([{ role: "system", content: "Be brief." }]), "messages: must have a message of the user")
  assert.strictEqual(
    reasonOf([user("hi"), { role: "assistant", content: "hello" }]),
    "messages: must end with a message of the user"
  )
  assert.strictEqual(reasonOf([user(" ")]), "messages: must end with a message that is not empty")
  assert.strictEqual(reasonOf([user("x".repeat(maximumTaskLength))]), "it was read")
  assert.include(reasonOf([{ role: "system", content: "y" }, user("x".repeat(maximumTaskLength))]), "at most 100000")
  const image = { type: "image", source: { type: "url", url: "https://example.com/cat.png" } } as const
  assert.include(reasonOf([{ role: "user", content: "what is it?", parts: [image] }]), "read no images")
})
