import { estimatePromptTokens, estimateTokens, makeTokenCounter } from "@berth/domain/ai/prompt/TokenEstimate"
import type { ChatMessage, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const encoder = new TextEncoder()

/** Texts, and the largest count of OpenAI's o200k_base and cl100k_base and of Claude 2's published tokenizer. */
const counted: ReadonlyArray<readonly [name: string, text: string, tokens: number]> = [
  [
    "English prose",
    "The quick brown fox jumps over the lazy dog. Artificial intelligence is transforming the way we work, and organizations everywhere are adapting to new opportunities.",
    29
  ],
  [
    "German prose",
    "Die Donaudampfschifffahrtsgesellschaft veröffentlichte gestern ihre Geschäftsergebnisse für das abgelaufene Kalenderjahr.",
    38
  ],
  [
    "TypeScript code",
    "export const findModelRoutes = (model: Model, configured: ReadonlySet<ProviderName>): ReadonlyArray<ProviderName> =>\n  [...new Set([model.provider, ...listModelProviders(model.id)])].filter((provider) => configured.has(provider))",
    60
  ],
  [
    "json",
    '{"id":"anthropic/claude-opus-4-6","name":"Claude Opus 4.6","inputCost":5,"outputCost":25,"contextWindow":1000000,"seesImages":true}',
    49
  ],
  ["digits", "3141592653589793238462643383279502884197169399375105820974944592307816406286", 33],
  ["short numbers", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", 31],
  ["csv", "2024-01-15,1234.56,789,0.0012\n2024-01-16,9876.54,321,0.0345\n", 38],
  [
    "base64",
    "H0D8ktokFpR1CXnubPWC8tXX0o4YM13gWrxU0FYOD1MChgxlK/CNVgJSql50IQVG82n7u86MEs/HlXsmUv6adQ==Umd2iCLuYk1I/OFexcp5y9YCy39MIVelFlVpkfIu+Me173sY0f9BxZNw77CFhlHUSpNsEbexRMSP4E3zxqPo2g==",
    122
  ],
  [
    "hexadecimal",
    "1f40fc92da241694750979ee6cf582f2d5d7d28e18335de05abc54d0560e0f5302860c652bf08d560252aa5e74210546f369fbbbce8c12cfc7957b2652fe9a75",
    71
  ],
  ["UUID", "0f8fad5b-d9cb-469f-a165-70867728950e", 24],
  [
    "random letters",
    "hdktokfprcxnubpwctxxoymgwrxufyodmchgxlkcnvgjsqliqvgnumeshlxsmuvadqumdicluykiofexcpyycymivelflvpkfiumesyfbxznwcfhlhuspnsebexrmspezxqpog",
    68
  ],
  ["JSON web token", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0", 60],
  ["punctuation", "!@#$%^&*()_+-={}[]|\\:;\"'<>,.?/~`", 21],
  ["Russian", "Искусственный интеллект меняет то, как мы работаем, и организации приспосабливаются.", 42],
  ["Greek", "Η τεχνητή νοημοσύνη αλλάζει τον τρόπο με τον οποίο εργαζόμαστε.", 70],
  ["Hebrew", "בינה מלאכותית משנה את הדרך שבה אנו עובדים", 37],
  ["Arabic", "الذكاء الاصطناعي يغير الطريقة التي نعمل بها كل يوم", 45],
  ["Hindi", "कृत्रिम बुद्धिमत्ता हमारे काम करने के तरीके को बदल रही है।", 58],
  ["Thai", "ปัญญาประดิษฐ์กำลังเปลี่ยนวิธีการทำงานของเรา", 78],
  ["Georgian", "ხელოვნური ინტელექტი ცვლის ჩვენი მუშაობის გზას", 85],
  ["Burmese", "ဉာဏ်ရည်တုသည် ကျွန်ုပ်တို့ အလုပ်လုပ်ပုံကို ပြောင်းလဲနေသည်", 109],
  ["Chinese", "人工智能正在改变我们的工作方式，世界各地的组织都在适应新的机遇和挑战。", 40],
  ["Japanese", "人工知能は私たちの働き方を変えつつあり、世界中の組織が新しい機会に適応しています。", 47],
  ["Korean", "인공지능은 우리가 일하는 방식을 바꾸고 있으며 전 세계 조직이 적응하고 있다.", 48],
  ["Vietnamese", "Trí tuệ nhân tạo đang thay đổi cách chúng ta làm việc và học tập mỗi ngày.", 50],
  ["Amharic", "ሰው ሰራሽ አስተውሎት የምንሠራበትን መንገድ እየቀየረ ነው", 95],
  ["emoji", "😀🚢🎉👩‍👩‍👧‍👦🤖", 29],
  ["mathematics", "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ∧ α ∉ {∅}", 33]
]

describe("estimateTokens", () => {
  it("estimateTokens returns 0 for an empty text", () => {
    assert.strictEqual(estimateTokens(""), 0)
  })

  it.each(counted)("estimateTokens is at least what tokenizers count: %s", (_, text, tokens) => {
    assert.isAtLeast(estimateTokens(text), tokens)
  })

  it("estimateTokens is at most twice what tokenizers count for prose, code and digits", () => {
    for (const [name, text, tokens] of counted)
      if (/prose|code|json/.test(name)) assert.isAtMost(estimateTokens(text), 2 * tokens, name)
  })

  it.prop("estimateTokens counts every digit", [FastCheck.stringMatching(/^[0-9]{1,200}$/)], ([digits]) => {
    assert.isAtLeast(estimateTokens(digits), digits.length)
  })

  it.prop(
    "estimateTokens counts three tokens for four characters of base64",
    [FastCheck.uint8Array({ minLength: 60, maxLength: 600 })],
    ([bytes]) => {
      const text = Buffer.from(bytes).toString("base64")
      assert.isAtLeast(estimateTokens(text), Math.floor(text.replaceAll(/[^A-Za-z0-9]/g, "").length * 0.7))
    }
  )

  it.prop(
    "estimateTokens counts a token for five bytes at least, so that a prompt that fits its budget fits its wire",
    [FastCheck.oneof(FastCheck.string({ unit: "binary" }), FastCheck.string({ unit: "grapheme" }), FastCheck.lorem())],
    ([text]) => {
      assert.isAtMost(encoder.encode(text).length, 5 * estimateTokens(text))
    }
  )

  it.prop("estimateTokens never shrinks with more text", [FastCheck.string(), FastCheck.string()], ([text, more]) => {
    assert.isAtLeast(estimateTokens(text + more), estimateTokens(text))
  })
})

describe("makeTokenCounter", () => {
  it.prop(
    "A token counter counts parts as it counts their whole text, at any time",
    [FastCheck.array(FastCheck.oneof(FastCheck.string({ unit: "binary" }), FastCheck.base64String()))],
    ([parts]) => {
      const counter = makeTokenCounter()
      for (const [at, part] of parts.entries()) {
        counter.add(part)
        assert.strictEqual(counter.count(), estimateTokens(parts.slice(0, at + 1).join("")))
      }
    }
  )

  it("A token counter counts without another pass over its text", () => {
    const counter = makeTokenCounter()
    counter.add("sail ".repeat(1_000_000))
    const started = performance.now()
    for (let reading = 0; reading < 1000; reading += 1) counter.count()
    assert.isBelow(performance.now() - started, 1000)
  })
})

describe("estimatePromptTokens", () => {
  it("estimatePromptTokens counts tool calls, their results, and the offered tools", () => {
    const question: ChatMessage = { role: "user", content: "12345678" }
    const calls: ChatMessage = {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "call", name: "tool", arguments: "12345678" }]
    }
    const result: ChatMessage = { role: "tool", content: "1".repeat(400), toolCallId: "call", toolName: "tool" }
    const tool: ToolSpec = { name: "tool", description: "1".repeat(400), parameters: { type: "object" } }
    assert.strictEqual(estimatePromptTokens([question]), 4 + 8)
    assert.isAtLeast(estimatePromptTokens([question, calls]), 12 + 4 + 8 + 8)
    assert.isAtLeast(estimatePromptTokens([question, calls, result]), 32 + 4 + 400)
    assert.isAtLeast(estimatePromptTokens([question], [tool]), 12 + 8 + 400)
  })

  it("estimatePromptTokens reads a list of messages once", () => {
    let reads = 0
    const question = {
      role: "user",
      get content() {
        reads += 1
        return "hello"
      }
    } as const
    const messages = [question]
    assert.strictEqual(estimatePromptTokens(messages), estimatePromptTokens(messages))
    assert.strictEqual(reads, 1)
  })

  it.prop("estimatePromptTokens grows with the prompt", [FastCheck.string(), FastCheck.string()], ([content, more]) => {
    const one: ChatMessage = { role: "tool", content, toolCallId: "a", toolName: "b" }
    assert.isAtLeast(estimatePromptTokens([one, { ...one, content: content + more }]), 2 * estimatePromptTokens([one]))
  })

  it.prop("estimatePromptTokens is at least the texts' estimate", [FastCheck.array(FastCheck.string())], ([texts]) => {
    const messages = texts.map((content): ChatMessage => ({ role: "user", content }))
    assert.isAtLeast(estimatePromptTokens(messages), estimateTokens(texts.join("")))
  })
})
