import type { ChatMessage } from "@berth/domain/ai/ModelChat"
import { makeSandboxProvider, sandboxModel } from "@berth/infra/ai/SandboxProvider"
import { sandboxReply } from "@berth/infra/ai/SandboxReply"
import { describe, expect, it } from "@effect/vitest"
import { Chunk, Effect, FastCheck, Stream } from "effect"

const user = (content: string): ChatMessage => ({ role: "user", content })
const assistant = (content: string): ChatMessage => ({ role: "assistant", content })

describe("the sandbox model", () => {
  it("echoes", () => {
    expect(sandboxReply([user("What is the weather?")])).toBe("Berth's sandbox model heard: What is the weather?")
  })

  it("remembers what it was told in the conversation", () => {
    const told = [user("Hi, my name is Zoë."), assistant("Nice to meet you, Zoë.")]
    expect(sandboxReply([...told, user("What's my name?")])).toBe("Your name is Zoë.")
    expect(sandboxReply([user("What is my name?")])).toBe("You have not told me your name yet.")
    expect(sandboxReply([...told, user("Call me Jean-Luc"), user("who am I?")])).toBe("Your name is Jean-Luc.")
    expect(sandboxReply([user("Remember that the key is under the mat."), user("What do you remember?")])).toBe(
      "You asked me to remember: the key is under the mat"
    )
    // What others said is not the user's name.
    expect(sandboxReply([assistant("My name is Berth"), user("what is my name")])).toContain("not told me")
  })

  it.prop("streams its reply in pieces, the same each time, and counts", [FastCheck.string()], ([said]) => {
    const run = () =>
      Chunk.toReadonlyArray(
        Effect.runSync(Stream.runCollect(makeSandboxProvider().chat(sandboxModel.id, [user(said)], {})))
      )
    const chunks = run()
    const text = chunks.map((chunk) => (chunk.type === "text" ? chunk.text : "")).join("")
    expect(text).toBe(sandboxReply([user(said)]))
    expect(chunks.at(-1)).toMatchObject({ type: "end", finishReason: "stop" })
    expect(run()).toEqual(chunks)
  })

  it("keeps to a limit of tokens", () => {
    const chunks = Chunk.toReadonlyArray(
      Effect.runSync(Stream.runCollect(makeSandboxProvider().chat(sandboxModel.id, [user("hello")], { maxTokens: 2 })))
    )
    expect(chunks.at(-1)).toMatchObject({ finishReason: "length", usage: { completionTokens: 2 } })
  })
})
