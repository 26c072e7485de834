import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage, ChatOptions, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { makeAnthropicRequest } from "@berth/infra/ai/anthropic/AnthropicRequest"
import { guessMediaType, makeGoogleRequest } from "@berth/infra/ai/google/GoogleRequest"
import { makeOpenAiRequest } from "@berth/infra/ai/openai/OpenAiRequest"
import { assert, describe, it } from "@effect/vitest"
import { assertMatches } from "../../../../test/support/Matching.ts"

const hello: ReadonlyArray<ChatMessage> = [{ role: "user", content: "Hi" }]
const tools: ReadonlyArray<ToolSpec> = [{ name: "look-up", description: "Looks up", parameters: { type: "object" } }]
const schema = { type: "object", properties: { name: { type: "string" } } }

/** The same call on each wire. */
const bodies = (options: ChatOptions, messages = hello) => ({
  openai: makeOpenAiRequest("openai", "openai/gpt-4o", messages, options),
  anthropic: makeAnthropicRequest("anthropic/claude-opus-4-6", messages, options),
  google: makeGoogleRequest("google/gemini-2.5-flash", messages, options)
})

describe("Images in user messages", () => {
  const cat: ContentPart = {
    type: "image",
    source: { type: "url", url: "https://example.com/cat.PNG?size=1" },
    detail: "low"
  }
  const dog: ContentPart = { type: "image", source: { type: "data", mediaType: "image/webp", data: "UklGRg==" } }
  const parts: ReadonlyArray<ContentPart> = [
    { type: "text", text: "This is a cat:" },
    cat,
    { type: "text", text: "And this?" },
    dog
  ]
  const messages: ReadonlyArray<ChatMessage> = [
    { role: "system", content: "Look well." },
    { role: "user", content: "This is a cat:\nAnd this?", parts }
  ]

  it("Images keep their positions in the request of every vendor", () => {
    const { anthropic, google, openai } = bodies({}, messages)
    assert.deepStrictEqual(openai.messages, [
      { role: "system", content: "Look well." },
      {
        role: "user",
        content: [
          { type: "text", text: "This is a cat:" },
          { type: "image_url", image_url: { url: "https://example.com/cat.PNG?size=1", detail: "low" } },
          { type: "text", text: "And this?" },
          { type: "image_url", image_url: { url: "data:image/webp;base64,UklGRg==" } }
        ]
      }
    ])
    assertMatches(anthropic, {
      system: "Look well.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "This is a cat:" },
            { type: "image", source: { type: "url", url: "https://example.com/cat.PNG?size=1" } },
            { type: "text", text: "And this?" },
            { type: "image", source: { type: "base64", media_type: "image/webp", data: "UklGRg==" } }
          ]
        }
      ]
    })
    assert.deepStrictEqual(google.contents, [
      {
        role: "user",
        parts: [
          { text: "This is a cat:" },
          { fileData: { fileUri: "https://example.com/cat.PNG?size=1", mimeType: "image/png" } },
          { text: "And this?" },
          { inlineData: { mimeType: "image/webp", data: "UklGRg==" } }
        ]
      }
    ])
  })

  it("Images stay with their text in merged turns, and need no text", () => {
    const twice: ReadonlyArray<ChatMessage> = [
      { role: "user", content: "Look:" },
      { role: "user", content: " ", parts: [{ type: "text", text: " " }, dog] },
      { role: "user", content: "Well?" }
    ]
    const { anthropic, google } = bodies({}, twice)
    assert.deepStrictEqual(anthropic.messages, [
      {
        role: "user",
        content: [
          { type: "text", text: "Look:" },
          { type: "image", source: { type: "base64", media_type: "image/webp", data: "UklGRg==" } },
          { type: "text", text: "Well?" }
        ]
      }
    ])
    assert.strictEqual(google.contents[0]?.parts.length, 3)
  })

  it("Images follow the results of tools", () => {
    const withResult: ReadonlyArray<ChatMessage> = [
      ...hello,
      { role: "assistant", content: "", toolCalls: [{ id: "call_1", name: "look-up", arguments: "{}" }] },
      { role: "tool", content: "found", toolCallId: "call_1", toolName: "look-up" },
      { role: "user", content: "", parts: [dog] }
    ]
    const { anthropic, google } = bodies({ tools }, withResult)
    assertMatches(anthropic.messages[2], { content: [{ type: "tool_result" }, { type: "image" }] })
    assertMatches(google.contents[2]?.parts, [{ functionResponse: {} }, { inlineData: {} }])
  })

  it("The type of an image follows from the extension of its path", () => {
    assert.strictEqual(guessMediaType("https://example.com/a.b/cat.jpeg#top"), "image/jpeg")
    assert.isNull(guessMediaType("https://example.com/cat"))
    assert.isNull(guessMediaType("https://example.com/cat.exe"))
  })
})

describe("which tool is called", () => {
  const choiceOf = (toolChoice: NonNullable<ChatOptions["toolChoice"]>) => {
    const { anthropic, google, openai } = bodies({ tools, toolChoice })
    return [openai.tool_choice, anthropic.tool_choice, google.toolConfig?.functionCallingConfig]
  }

  it("The tool choice has each vendor's format", () => {
    assert.deepStrictEqual(choiceOf("auto"), ["auto", { type: "auto" }, { mode: "AUTO" }])
    assert.deepStrictEqual(choiceOf("none"), ["none", { type: "none" }, { mode: "NONE" }])
    assert.deepStrictEqual(choiceOf("required"), ["required", { type: "any" }, { mode: "ANY" }])
    assert.deepStrictEqual(choiceOf({ name: "look-up" }), [
      { type: "function", function: { name: "look-up" } },
      { type: "tool", name: "look-up" },
      { mode: "ANY", allowedFunctionNames: ["look-up"] }
    ])
  })

  it("The tool choice is omitted without tools", () => {
    const { anthropic, google, openai } = bodies({ toolChoice: "required", parallelToolCalls: true })
    for (const body of [openai, anthropic, google]) {
      for (const member of ["tools", "tool_choice", "toolConfig", "parallel_tool_calls"])
        assert.notProperty(body, member)
    }
  })

  it("Tool calls may be limited to one at a time", () => {
    const { anthropic, openai } = bodies({ tools, parallelToolCalls: false })
    assert.isFalse(openai.parallel_tool_calls)
    assert.deepStrictEqual(anthropic.tool_choice, { type: "auto", disable_parallel_tool_use: true })
    assert.deepStrictEqual(bodies({ tools, toolChoice: "none", parallelToolCalls: false }).anthropic.tool_choice, {
      type: "none"
    })
  })
})

describe("the form of an answer", () => {
  it("The JSON format is requested from Anthropic's models by instructions", () => {
    const { anthropic, google, openai } = bodies({ responseFormat: { type: "json-object" } })
    assert.deepStrictEqual(openai.response_format, { type: "json_object" })
    assert.deepStrictEqual(google.generationConfig, { responseMimeType: "application/json" })
    assert.match(anthropic.system ?? "", /^Answer with one valid JSON object/)
    const requestBodies = bodies({ responseFormat: { type: "json-object" } }, [
      { role: "system", content: "Be kind." },
      ...hello
    ])
    assert.match(requestBodies.anthropic.system ?? "", /^Be kind\.\n\nAnswer with one valid JSON object/)
  })

  it("The JSON schema is requested in each vendor's format", () => {
    const { anthropic, google, openai } = bodies({
      responseFormat: { type: "json-schema", name: "person", description: "Who", schema, strict: true }
    })
    assert.deepStrictEqual(openai.response_format, {
      type: "json_schema",
      json_schema: { name: "person", description: "Who", schema, strict: true }
    })
    assert.deepStrictEqual(anthropic.output_config, { format: { type: "json_schema", schema } })
    assert.deepStrictEqual(google.generationConfig, {
      responseMimeType: "application/json",
      responseJsonSchema: schema
    })
  })

  it("Stop sequences and seed are requested where the vendor supports them", () => {
    const { anthropic, google, openai } = bodies({
      stop: ["END"],
      seed: 7,
      frequencyPenalty: 0.5,
      presencePenalty: -0.5
    })
    assertMatches(openai, { stop: ["END"], seed: 7, frequency_penalty: 0.5, presence_penalty: -0.5 })
    assert.deepStrictEqual(anthropic.stop_sequences, ["END"])
    assert.notProperty(anthropic, "seed")
    assert.deepStrictEqual(google.generationConfig, {
      stopSequences: ["END"],
      seed: 7,
      frequencyPenalty: 0.5,
      presencePenalty: -0.5
    })
    assert.notProperty(
      makeOpenAiRequest("openai", "openai/gpt-5", hello, { frequencyPenalty: 0.5 }),
      "frequency_penalty"
    )
  })
})
