import { fitPrompt, flattenPrompt, type Prompt } from "@berth/domain/ai/prompt/PromptFitting"
import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import {
  truncateToTokens,
  minimumTruncatedTokens,
  computePromptBudget,
  estimateMessagesTokens,
  estimateSerializedToolTokens,
  computeUsableWindow
} from "@berth/domain/ai/prompt/PromptBudget"
import { estimateTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import { assert, it } from "@effect/vitest"
import { FastCheck } from "effect"

const content = FastCheck.tuple(FastCheck.string({ unit: "binary", maxLength: 30 }), FastCheck.nat(400)).map(
  ([text, times]) => `${text}☺\n`.repeat(times)
)
const conversationMessage = FastCheck.record({
  role: FastCheck.constantFrom("user" as const, "assistant" as const),
  content
})
const round = FastCheck.array(FastCheck.tuple(content, content), { minLength: 1, maxLength: 4 }).map(
  (calls): ReadonlyArray<ChatMessage> => [
    {
      role: "assistant",
      content: "",
      toolCalls: calls.map(([args], at) => ({ id: `c${at}`, name: "tool", arguments: JSON.stringify({ args }) }))
    },
    ...calls.map(([, result], at): ChatMessage => ({
      role: "tool",
      content: result,
      toolCallId: `c${at}`,
      toolName: "tool"
    }))
  ]
)
const prompts = FastCheck.record({
  system: content.map((text): ChatMessage => ({ role: "system", content: text })),
  history: FastCheck.array(conversationMessage, { maxLength: 10 }),
  message: content.map((text): ChatMessage => ({ role: "user", content: text })),
  rounds: FastCheck.array(round, { maxLength: 4 })
})

it.prop(
  "fitPrompt always fits, and keeps the system message first and every result behind its call",
  [prompts, FastCheck.integer({ min: 64, max: 20_000 })],
  ([prompt, budget]) => {
    const fitted = fitPrompt(prompt, budget)
    assert.isAtMost(estimateMessagesTokens(fitted), budget)
    assert.strictEqual(fitted[0]?.role, "system")
    assert.isAbove(fitted.filter(({ role }) => role === "user").length, 0)
    let open = new Set<string>()
    for (const message of fitted) {
      if (message.role === "assistant") open = new Set((message.toolCalls ?? []).map(({ id }) => id))
      if (message.role === "tool") assert.isTrue(open.delete(message.toolCallId))
    }
    for (const message of fitted)
      if (message.role === "assistant")
        for (const call of message.toolCalls ?? []) assert.doesNotThrow(() => void JSON.parse(call.arguments))
  },
  { fastCheck: { numRuns: 60 } }
)

it.prop("fitPrompt returns a prompt that fits unchanged", [prompts], ([prompt]) => {
  const whole = flattenPrompt(prompt)
  assert.deepStrictEqual(fitPrompt(prompt, estimateMessagesTokens(whole)), whole)
})

const text = (length: number) => "word ".repeat(length / 5)

const prompt = (changes: Partial<Prompt>): Prompt => ({
  system: { role: "system", content: "system" },
  history: [],
  message: { role: "user", content: "message" },
  rounds: [],
  ...changes
})

const results = (...contents: ReadonlyArray<string>): ReadonlyArray<ChatMessage> => [
  {
    role: "assistant",
    content: "",
    toolCalls: contents.map((_, at) => ({ id: `c${at}`, name: "t", arguments: "{}" }))
  },
  ...contents.map((content, at): ChatMessage => ({ role: "tool", content, toolCallId: `c${at}`, toolName: "t" }))
]

it("fitPrompt truncates the longest results before it drops messages", () => {
  const history: ReadonlyArray<ChatMessage> = [
    { role: "user", content: `old ${text(2_000)}` },
    { role: "user", content: "new" }
  ]
  const fitted = fitPrompt(prompt({ history, rounds: [results(text(20_000), "short")] }), 3_000)
  assert.deepStrictEqual(fitted[1], history[0])
  assert.strictEqual(fitted.at(-1)?.content, "short")
  assert.include(fitted.at(-2)?.content, "[…]")
  assert.isAbove(fitted.at(-2)?.content.length ?? 0, 5_000)
})

it("fitPrompt drops the oldest messages first", () => {
  const history = Array.from({ length: 10 }, (_, at): ChatMessage => ({ role: "user", content: `${at} ${text(480)}` }))
  const fitted = fitPrompt(prompt({ history }), 500)
  assert.deepStrictEqual(
    fitted.map(({ content }) => content.slice(0, 2)),
    ["sy", "6 ", "7 ", "8 ", "9 ", "me"]
  )
})

it("fitPrompt cuts the middle of a message that is too long alone", () => {
  const fitted = fitPrompt(prompt({ message: { role: "user", content: `first ${text(100_000)} last` } }), 500)
  assert.deepStrictEqual(
    fitted.map(({ role }) => role),
    ["system", "user"]
  )
  assert.strictEqual(fitted[0]?.content, "system")
  assert.match(fitted[1]?.content ?? "", /^first (word )+w?o?r?d?\n\[…\]\n ?w?o?r?d? ?(word )+ last$/)
})

it.prop(
  "fitPrompt cuts a text to about the requested length, at characters, and keeps both ends",
  [FastCheck.string({ unit: "binary", maxLength: 300 }), FastCheck.integer({ min: minimumTruncatedTokens, max: 80 })],
  ([whole, tokens]) => {
    const cut = truncateToTokens(whole, tokens)
    assert.isAtMost(estimateTokens(JSON.stringify(cut)), tokens)
    if (cut !== whole) assert.isTrue(cut.isWellFormed())
  }
)

const toolSpec = FastCheck.record({
  name: FastCheck.string(),
  description: FastCheck.string({ unit: "binary", maxLength: 200 }),
  parameters: FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue(), { noNullPrototype: true })
})

it.prop(
  "estimateSerializedToolTokens is at least the estimate of the whole array, and 0 for no tool",
  [FastCheck.array(toolSpec, { maxLength: 6 })],
  ([tools]) =>
    tools.length === 0
      ? assert.strictEqual(estimateSerializedToolTokens(tools), 0)
      : assert.isAtLeast(estimateSerializedToolTokens(tools), estimateTokens(JSON.stringify(tools)))
)

it("fitPrompt leaves room for the answer and stays within the limit of the wire", () => {
  assert.strictEqual(computePromptBudget(128_000, null), 128_000 - 16_384)
  assert.strictEqual(computePromptBudget(128_000, 1_000), 127_000)
  assert.strictEqual(computePromptBudget(8_000, 100_000), 6_000)
  assert.isBelow(computeUsableWindow(2_000_000) * 5, 900 * 1024)
  assert.isBelow(computePromptBudget(2_000_000, null), computeUsableWindow(2_000_000))
})
