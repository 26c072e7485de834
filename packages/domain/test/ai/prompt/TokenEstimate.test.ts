import { estimatePromptTokens, estimateTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import type { ChatMessage, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { describe, expect, it } from "@effect/vitest"
import { FastCheck } from "effect"

describe("an estimate of tokens", () => {
  it("is a token for four bytes, rounded up", () => {
    expect(estimateTokens("")).toBe(0)
    expect(estimateTokens("12345")).toBe(2)
    expect(estimateTokens("日本")).toBe(2)
  })

  it("counts calls of tools, what they gave, and the tools on offer", () => {
    const question: ChatMessage = { role: "user", content: "12345678" }
    const calls: ChatMessage = {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "call", name: "tool", arguments: "12345678" }]
    }
    const result: ChatMessage = { role: "tool", content: "x".repeat(400), toolCallId: "call", toolName: "tool" }
    const tool: ToolSpec = { name: "tool", description: "d".repeat(400), parameters: { type: "object" } }
    expect(estimatePromptTokens([question])).toBe(6)
    expect(estimatePromptTokens([question, calls])).toBe(6 + 4 + 8 + 4)
    expect(estimatePromptTokens([question, calls, result])).toBe(22 + 4 + 100 + 2)
    expect(estimatePromptTokens([question], [tool])).toBeGreaterThan(110)
  })

  it.prop("never shrinks with more to read", [FastCheck.string(), FastCheck.string()], ([content, more]) => {
    const one: ChatMessage = { role: "tool", content, toolCallId: "a", toolName: "b" }
    expect(estimatePromptTokens([one, { ...one, content: content + more }])).toBeGreaterThanOrEqual(
      2 * estimatePromptTokens([one])
    )
  })
})
