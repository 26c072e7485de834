import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { makeImageReference } from "@berth/domain/interaction/attachments/Attachment"
import { flattenPrompt } from "@berth/domain/ai/prompt/PromptFitting"
import { RuntimeAgent, type Turn, TurnMessage } from "@berth/domain/instances/AgentRuntime"
import { makeTurnPrompt } from "@berth/runtime/interaction/TurnPrompt"
import { assert, it } from "@effect/vitest"
import { DateTime, FastCheck, Schema } from "effect"
import { sampleAgent } from "../AgentSamples.ts"

const now = DateTime.unsafeMake("2026-01-15T23:30:59Z")

const agent = (changes: Partial<RuntimeAgent> = {}): RuntimeAgent => ({ ...sampleAgent, timezone: "UTC", ...changes })

const turnMessages = (
  someone: RuntimeAgent,
  turn: Pick<Turn, "history" | "message"> & Partial<Turn>,
  at: DateTime.Utc
) => flattenPrompt(makeTurnPrompt(someone, { summary: null, memories: [], ...turn }, at))

it.prop(
  "TurnPrompt keeps the conversation as it is between one system message and the new message",
  [RuntimeAgent, Schema.Array(TurnMessage), FastCheck.string()],
  ([someone, history, message]) => {
    const [system, ...rest] = turnMessages(someone, { history, message }, now)
    assert.strictEqual(system?.role, "system")
    assert.include(system?.content, someone.name)
    assert.include(system?.content, (someone.systemPrompt ?? "").trim())
    assert.deepStrictEqual(rest, [
      ...history.map(({ content, images = [], role }): ChatMessage =>
        role === "user" && images.length > 0
          ? { role, content, parts: [{ type: "text", text: content }, ...images.map(makeImageReference)] }
          : { role, content }
      ),
      { role: "user", content: message }
    ])
  }
)

it("TurnPrompt has the time in the agent's zone, to the minute", () => {
  const promptFor = (timezone: string) =>
    turnMessages(agent({ timezone }), { history: [], message: "" }, now)[0]?.content
  assert.include(promptFor("UTC"), "Thursday")
  assert.include(promptFor("UTC"), "15 January 2026")
  assert.include(promptFor("UTC"), "23:30 (UTC)")
  assert.include(promptFor("Asia/Tokyo"), "16 January 2026")
  assert.include(promptFor("Asia/Tokyo"), "08:30 (Asia/Tokyo)")
})

it("TurnPrompt falls back to UTC for a time zone that does not exist", () => {
  const [system] = turnMessages(agent({ timezone: "Middle/Earth" }), { history: [], message: "" }, now)
  assert.include(system?.content, "23:30 (UTC)")
})

it("TurnPrompt omits an empty prompt", () => {
  const without = turnMessages(agent(), { history: [], message: "" }, now)
  assert.deepStrictEqual(turnMessages(agent({ systemPrompt: "  " }), { history: [], message: "" }, now), without)
})

const systemOf = (changes: Partial<RuntimeAgent>, turn: Partial<Turn>) =>
  turnMessages(agent(changes), { history: [], message: "", ...turn }, now)[0]?.content ?? ""

it("TurnPrompt lists memories, one per line, and the summary", () => {
  const prompt = systemOf(
    { systemPrompt: "Be brief." },
    { memories: ["The user is called Mia.", " likes\n\ntea ", " "], summary: " They met. " }
  )
  assert.include(prompt, "\n\nWhat you know from earlier:\n- The user is called Mia.\n- likes tea\n\n")
  assert.isTrue(prompt.endsWith("\n\nEarlier in this conversation:\nThey met."))
  const untold = systemOf({}, { memories: [" "], summary: " " })
  assert.notInclude(untold, "earlier")
  assert.notInclude(untold, "Earlier")
})

it("TurnPrompt keeps the most relevant memories and a part of the summary when the window is small", () => {
  const memories = Array.from({ length: 100 }, (_, at) => `Fact number ${at} about the user.`)
  const prompt = systemOf({ contextWindow: 2_000 }, { memories, summary: "word ".repeat(10_000) })
  assert.include(prompt, "- Fact number 0 about")
  assert.notInclude(prompt, "- Fact number 99 about")
  assert.isBelow(prompt.length, 4 * 2_000 * 0.4)
})

it("TurnPrompt lists skills, with their instructions as long as they are short together", () => {
  const skill = (id: string, instructions: string) => ({ id, description: `Does ${id}.`, instructions, tools: [] })
  const short = systemOf({ skills: [skill("one", "Do this."), skill("two", "Do that.")] }, {})
  assert.include(short, "You have these skills:\n- one: Does one.\n- two: Does two.")
  assert.include(short, '<skill name="one">\nDo this.\n</skill>')
  assert.notInclude(short, "read_skill")
  const long = systemOf({ skills: [skill("one", "Do this. ".repeat(500)), skill("two", "Do that.")] }, {})
  assert.include(long, "- one: Does one.\n- two: Does two.")
  assert.include(long, "read_skill")
  assert.notInclude(long, "Do that.")
  assert.notInclude(systemOf({}, {}), "skill")
})
