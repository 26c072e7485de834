import { AgentId } from "@berth/domain/agents/Agent"
import { RuntimeAgent, TurnMessage } from "@berth/domain/instances/AgentRuntime"
import { turnMessages } from "@berth/runtime/interaction/TurnMessages"
import { expect, it } from "@effect/vitest"
import { DateTime, FastCheck, Schema } from "effect"

const now = DateTime.unsafeMake("2026-01-15T23:30:59Z")

const agent = (changes: Partial<RuntimeAgent> = {}): RuntimeAgent => ({
  id: AgentId.make("agt_1"),
  name: "Ada",
  model: "m",
  systemPrompt: null,
  temperature: null,
  maxTokens: null,
  timezone: "UTC",
  skills: [],
  contextWindow: 128_000,
  ...changes
})

it.prop(
  "keeps the conversation as it is between one system message and the new message",
  [RuntimeAgent, Schema.Array(TurnMessage), FastCheck.string()],
  ([someone, history, message]) => {
    const [system, ...rest] = turnMessages(someone, { history, message }, now)
    expect(system?.role).toBe("system")
    expect(system?.content).toContain(someone.name)
    expect(system?.content).toContain((someone.systemPrompt ?? "").trim())
    expect(rest).toStrictEqual([
      ...history.map(({ content, role }) => ({ role, content })),
      { role: "user", content: message }
    ])
  }
)

it("tells the time where the agent is, to the minute", () => {
  const told = (timezone: string) => turnMessages(agent({ timezone }), { history: [], message: "" }, now)[0]?.content
  expect(told("UTC")).toContain("Thursday")
  expect(told("UTC")).toContain("15 January 2026")
  expect(told("UTC")).toContain("23:30 (UTC)")
  expect(told("Asia/Tokyo")).toContain("16 January 2026")
  expect(told("Asia/Tokyo")).toContain("08:30 (Asia/Tokyo)")
})

it("falls back to UTC for a time zone that does not exist", () => {
  const [system] = turnMessages(agent({ timezone: "Middle/Earth" }), { history: [], message: "" }, now)
  expect(system?.content).toContain("23:30 (UTC)")
})

it("leaves an empty prompt out", () => {
  const without = turnMessages(agent(), { history: [], message: "" }, now)
  expect(turnMessages(agent({ systemPrompt: "  " }), { history: [], message: "" }, now)).toStrictEqual(without)
})
