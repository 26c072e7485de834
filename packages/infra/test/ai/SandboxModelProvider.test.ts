import type { ChatMessage, ToolChoice, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import { streamFromOpened } from "@berth/domain/ai/streams/ChunkSource"
import { sandboxModel, sandboxModelProvider } from "@berth/infra/ai/sandbox/SandboxModelProvider"
import { makeSandboxReply } from "@berth/infra/ai/sandbox/SandboxReply"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, FastCheck, Stream } from "effect"
import { assertMatches } from "../../../../test/support/Matching.ts"

const streamChat = (...requested: Parameters<ModelProvider["chat"]>) =>
  streamFromOpened(sandboxModelProvider.chat(...requested))

const user = (content: string): ChatMessage => ({ role: "user", content })
const assistant = (content: string): ChatMessage => ({ role: "assistant", content })

describe("the sandbox model", () => {
  it("The sandbox model echoes the message", () => {
    assert.strictEqual(
      makeSandboxReply([user("What is the weather?")]),
      "Berth's sandbox model heard: What is the weather?"
    )
  })

  it("The sandbox model remembers facts of the conversation", () => {
    const history = [user("Hi, my name is Zoë."), assistant("Nice to meet you, Zoë.")]
    assert.strictEqual(makeSandboxReply([...history, user("What's my name?")]), "Your name is Zoë.")
    assert.strictEqual(makeSandboxReply([user("What is my name?")]), "You have not told me your name yet.")
    assert.strictEqual(
      makeSandboxReply([...history, user("Call me Jean-Luc"), user("who am I?")]),
      "Your name is Jean-Luc."
    )
    assert.strictEqual(
      makeSandboxReply([user("Remember that the key is under the mat."), user("What do you remember?")]),
      "You asked me to remember: the key is under the mat"
    )
    // Only the user's own statements count as the user's name.
    assert.include(makeSandboxReply([assistant("My name is Berth"), user("what is my name")]), "not told me")
  })

  it.prop("The sandbox model streams the same deltas each time, with usage", [FastCheck.string()], ([text]) => {
    const run = () =>
      Chunk.toReadonlyArray(Effect.runSync(Stream.runCollect(streamChat(sandboxModel.id, [user(text)], {}))))
    const chunks = run()
    const reply = chunks.map((chunk) => (chunk.type === "delta" ? chunk.text : "")).join("")
    assert.strictEqual(reply, makeSandboxReply([user(text)]))
    assertMatches(chunks.at(-1), { type: "done", finishReason: "stop" })
    assert.deepStrictEqual(run(), chunks)
  })

  it("The sandbox model respects a limit of tokens", () => {
    const chunks = Chunk.toReadonlyArray(
      Effect.runSync(Stream.runCollect(streamChat(sandboxModel.id, [user("hello")], { maxTokens: 2 })))
    )
    assertMatches(chunks.at(-1), { finishReason: "length", usage: { completionTokens: 2 } })
  })
})

it("The sandbox model ends before a stop sequence", () => {
  const reply = (stop: ReadonlyArray<string>) =>
    Chunk.toReadonlyArray(
      Effect.runSync(Stream.runCollect(streamChat(sandboxModel.id, [user("one two three")], { stop })))
    )
  const textOf = (stop: ReadonlyArray<string>) =>
    reply(stop)
      .map((chunk) => (chunk.type === "delta" ? chunk.text : ""))
      .join("")
  assert.strictEqual(textOf(["four", ""]), "Berth's sandbox model heard: one two three")
  assert.strictEqual(textOf(["three", " two"]), "Berth's sandbox model heard: one")
  assert.strictEqual(textOf(["Berth"]), "")
  assertMatches(reply(["three", " two"]).at(-1), { type: "done", finishReason: "stop" })
})

describe("The sandbox model's instructions", () => {
  const system = (content: string): ChatMessage => ({ role: "system", content })
  const known = system(
    "You are a helpful agent.\n\nWhat you know from earlier:\n- My name is Zoë\n- the key is under the mat\n\nBe brief."
  )

  it("The sandbox model answers from its instructions when the conversation lacks the fact", () => {
    assert.strictEqual(makeSandboxReply([known, user("What's my name?")]), "Your name is Zoë.")
    assert.strictEqual(makeSandboxReply([known, user("Call me Ada"), user("What's my name?")]), "Your name is Ada.")
    assert.strictEqual(
      makeSandboxReply([known, user("What do you remember?")]),
      "I know from earlier: My name is Zoë; the key is under the mat"
    )
    assert.include(makeSandboxReply([known, user("Remember the milk"), user("What do you remember?")]), "the milk")
    assert.strictEqual(
      makeSandboxReply([system("What you know from earlier:\n- The user's name is Jo"), user("Who am I?")]),
      "Your name is Jo."
    )
    // The name of a user's thing is not the user's name.
    assert.include(
      makeSandboxReply([system("What you know from earlier:\n- my dog is called Rex"), user("Who am I?")]),
      "not told me"
    )
    // The agent's name is not the user's name.
    assert.include(makeSandboxReply([system("My name is Berth."), user("Who am I?")]), "not told me")
  })

  it("The sandbox model finds facts in a summary of the conversation", () => {
    const summed = system("Earlier in this conversation:\nThe user said:\n- my name is Ada\n- call me Grace\n- hello")
    assert.strictEqual(makeSandboxReply([summed, user("What is my name?")]), "Your name is Grace.")
    assert.strictEqual(makeSandboxReply([known, summed, user("What is my name?")]), "Your name is Grace.")
  })
})

describe("a summary by the sandbox model", () => {
  const requested: ChatMessage = { role: "system", content: "Summarize the conversation below in few words." }
  const summaryOf = (...messages: ReadonlyArray<ChatMessage>) =>
    Chunk.toReadonlyArray(Effect.runSync(Stream.runCollect(streamChat(sandboxModel.id, [requested, ...messages], {}))))
      .map((chunk) => (chunk.type === "delta" ? chunk.text : ""))
      .join("")

  it("A summary by the sandbox model keeps the users' messages in order, and none of the assistant's", () => {
    assert.strictEqual(
      summaryOf(user("My name is Ada"), assistant("Nice to meet you"), user("I like\n tea")),
      "The user said:\n- My name is Ada\n- I like tea"
    )
    assert.strictEqual(
      summaryOf(user("User: My name is Ada\nAssistant: Hello\nUser: I like tea")),
      "The user said:\n- My name is Ada\n- I like tea"
    )
  })

  it("A summary by the sandbox model keeps an earlier summary, and facts before other messages", () => {
    const chatter = Array.from({ length: 40 }, (_, index) => user(`${index} ${"chatter ".repeat(60)}`))
    const first = summaryOf(user("My name is Ada"), ...chatter)
    assert.isAtMost(first.length, 2_000)
    assert.include(first, "My name is Ada")
    assert.include(first, "- 39 chatter")
    assert.isTrue(first.split("\n").every((line) => line.length <= 202))
    const second = summaryOf({ role: "system", content: `Earlier in this conversation:\n${first}` }, ...chatter)
    assert.include(second, "My name is Ada")
    assert.strictEqual(
      makeSandboxReply([{ role: "system", content: `Earlier in this conversation:\n${second}` }, user("Who am I?")]),
      "Your name is Ada."
    )
  })

  it.prop(
    "A summary by the sandbox model is bounded and the same each time",
    [FastCheck.array(FastCheck.string({ maxLength: 500 }))],
    ([text]) => {
      const messages = text.map(user)
      const summary = summaryOf(...messages)
      assert.isAtMost(summary.length, 2_000)
      assert.strictEqual(summaryOf(...messages), summary)
    }
  )
})

describe("the sandbox model with tools", () => {
  const tool = (name: string): ToolSpec => ({ name, description: name, parameters: { type: "object" } })
  const all = [
    "current_time",
    "calculate",
    "remember",
    "recall",
    "fetch_web_page",
    "list_files",
    "read_file",
    "write_file",
    "delete_file"
  ].map(tool)
  const run = (messages: ReadonlyArray<ChatMessage>, tools = all) =>
    Chunk.toReadonlyArray(Effect.runSync(Stream.runCollect(streamChat(sandboxModel.id, messages, { tools }))))
  const called = (text: string, tools = all) => {
    const [first] = run([user(text)], tools)
    return first?.type === "tool-call" ? [first.call.name, JSON.parse(first.call.arguments)] : null
  }

  it("The sandbox model calls the requested tool", () => {
    const requests: ReadonlyArray<readonly [string, string, object]> = [
      ["What time is it?", "current_time", {}],
      ["what time is it in Europe/London?", "current_time", { timezone: "Europe/London" }],
      ["Calculate 2*(3+4)", "calculate", { expression: "2*(3+4)" }],
      ["calculate 0.1 + 0.2.", "calculate", { expression: "0.1 + 0.2" }],
      ["What is 17*23?", "calculate", { expression: "17*23" }],
      ["what's 2^10 - 1", "calculate", { expression: "2^10 - 1" }],
      ["Remember that the key is under the mat.", "remember", { text: "the key is under the mat" }],
      ["What do you remember about the key?", "recall", { query: "the key" }],
      ["What do you remember?", "recall", { query: "What do you remember" }],
      ["Please fetch https://example.com/a?b=c.", "fetch_web_page", { url: "https://example.com/a?b=c" }],
      ["List my files", "list_files", {}],
      ["list files", "list_files", {}],
      ["Read file notes/today.md.", "read_file", { path: "notes/today.md" }],
      ["write file a.txt: one\ntwo", "write_file", { path: "a.txt", content: "one\ntwo" }],
      ["Delete the file a.txt", "delete_file", { path: "a.txt" }]
    ]
    for (const [text, name, toolArguments] of requests) {
      assert.deepStrictEqual(called(text), [name, toolArguments], text)
      // A tool that is not offered is not called.
      assert.isNull(called(text, []), text)
      assert.isNull(
        called(
          text,
          all.filter((one) => one.name !== name)
        ),
        text
      )
    }
    for (const text of ["Hello", "What is 42?", "What is the weather?", "My name is Ada", "What is my name?"]) {
      assert.isNull(called(text), text)
    }
  })

  it("The sandbox model follows the choice of tools", () => {
    const calledBy = (text: string, toolChoice: ToolChoice, messages: ReadonlyArray<ChatMessage> = []) => {
      const options = { tools: all, toolChoice }
      const answer = Stream.runCollect(streamChat(sandboxModel.id, [user(text), ...messages], options))
      const [first] = Chunk.toReadonlyArray(Effect.runSync(answer))
      return first?.type === "tool-call" ? [first.call.name, first.call.arguments] : null
    }
    assert.isNull(calledBy("Calculate 1+1", "none"))
    assert.deepStrictEqual(calledBy("Calculate 1+1", "required"), ["calculate", '{"expression":"1+1"}'])
    assert.deepStrictEqual(calledBy("Hello", "required"), ["current_time", "{}"])
    assert.deepStrictEqual(calledBy("Calculate 1+1", { name: "list_files" }), ["list_files", "{}"])
    const result: ChatMessage = { role: "tool", toolCallId: "call_1", toolName: "list_files", content: "a.txt" }
    assert.isNull(calledBy("Hello", "required", [result]))
  })

  it("The sandbox model reports the tool's result and does not call it again", () => {
    const question = user("What is 17*23?")
    const [call, end] = run([question])
    assert.deepStrictEqual(call, {
      type: "tool-call",
      call: { id: "call_1", name: "calculate", arguments: '{"expression":"17*23"}' }
    })
    assertMatches(end, { type: "done", finishReason: "tool_calls" })
    if (call?.type !== "tool-call") return assert.fail("no call")
    const talk: ReadonlyArray<ChatMessage> = [
      question,
      { role: "assistant", content: "", toolCalls: [call.call] },
      { role: "tool", toolCallId: call.call.id, toolName: "calculate", content: "391" }
    ]
    for (const tools of [all, []]) {
      const chunks = run(talk, tools)
      assert.strictEqual(chunks.map((chunk) => (chunk.type === "delta" ? chunk.text : "")).join(""), "The result: 391")
      assertMatches(chunks.at(-1), { finishReason: "stop" })
    }
    assertMatches(run([...talk, assistant("The result: 391"), user("List files")])[0], {
      call: { id: "call_2", name: "list_files" }
    })
  })
})
