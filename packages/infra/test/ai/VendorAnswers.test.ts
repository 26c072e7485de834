import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage, ChatOptions, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { makeMessagesRequest } from "@berth/infra/ai/anthropic/AnthropicMessagesRequest"
import { makeGenerateRequest } from "@berth/infra/ai/google/GoogleGenerateRequest"
import { makeCompletionRequest } from "@berth/infra/ai/openai/OpenAiCompletionRequest"
import { guessMediaType } from "@berth/infra/ai/vendor/ImageUrl"
import { describe, expect, it } from "@effect/vitest"

const hello: ReadonlyArray<ChatMessage> = [{ role: "user", content: "Hi" }]
const tools: ReadonlyArray<ToolSpec> = [{ name: "look-up", description: "Looks up", parameters: { type: "object" } }]
const schema = { type: "object", properties: { name: { type: "string" } } }

/** The same call on each wire. */
const bodies = (options: ChatOptions, messages = hello) => ({
  openai: makeCompletionRequest("openai", "openai/gpt-4o", messages, options),
  anthropic: makeMessagesRequest("anthropic/claude-opus-4-6", messages, options),
  google: makeGenerateRequest("google/gemini-2.5-flash", messages, options)
})

describe("images in what a user says", () => {
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

  it("keep their places on every wire", () => {
    const { anthropic, google, openai } = bodies({}, messages)
    expect(openai.messages).toEqual([
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
    expect(anthropic).toMatchObject({
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
    expect(google.contents).toEqual([
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

  it("stay with their words where a user spoke twice, and need none", () => {
    const twice: ReadonlyArray<ChatMessage> = [
      { role: "user", content: "Look:" },
      { role: "user", content: " ", parts: [{ type: "text", text: " " }, dog] },
      { role: "user", content: "Well?" }
    ]
    const { anthropic, google } = bodies({}, twice)
    expect(anthropic.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look:" },
          { type: "image", source: { type: "base64", media_type: "image/webp", data: "UklGRg==" } },
          { type: "text", text: "Well?" }
        ]
      }
    ])
    expect(google.contents[0]?.parts).toHaveLength(3)
  })

  it("come behind the results of tools", () => {
    const withResult: ReadonlyArray<ChatMessage> = [
      ...hello,
      { role: "assistant", content: "", toolCalls: [{ id: "call_1", name: "look-up", arguments: "{}" }] },
      { role: "tool", content: "found", toolCallId: "call_1", toolName: "look-up" },
      { role: "user", content: "", parts: [dog] }
    ]
    const { anthropic, google } = bodies({ tools }, withResult)
    expect(anthropic.messages[2]).toMatchObject({ content: [{ type: "tool_result" }, { type: "image" }] })
    expect(google.contents[2]?.parts).toMatchObject([{ functionResponse: {} }, { inlineData: {} }])
  })

  it("are told by the end of their path, where that says something", () => {
    expect(guessMediaType("https://example.com/a.b/cat.jpeg#top")).toBe("image/jpeg")
    expect(guessMediaType("https://example.com/cat")).toBeNull()
    expect(guessMediaType("https://example.com/cat.exe")).toBeNull()
  })
})

describe("which tool is called", () => {
  const choiceOf = (toolChoice: NonNullable<ChatOptions["toolChoice"]>) => {
    const { anthropic, google, openai } = bodies({ tools, toolChoice })
    return [openai.tool_choice, anthropic.tool_choice, google.toolConfig?.functionCallingConfig]
  }

  it("is said in each vendor's words", () => {
    expect(choiceOf("auto")).toEqual(["auto", { type: "auto" }, { mode: "AUTO" }])
    expect(choiceOf("none")).toEqual(["none", { type: "none" }, { mode: "NONE" }])
    expect(choiceOf("required")).toEqual(["required", { type: "any" }, { mode: "ANY" }])
    expect(choiceOf({ name: "look-up" })).toEqual([
      { type: "function", function: { name: "look-up" } },
      { type: "tool", name: "look-up" },
      { mode: "ANY", allowedFunctionNames: ["look-up"] }
    ])
  })

  it("is not said without tools, which vendors refuse", () => {
    const { anthropic, google, openai } = bodies({ toolChoice: "required", parallelToolCalls: true })
    for (const body of [openai, anthropic, google]) {
      for (const member of ["tools", "tool_choice", "toolConfig", "parallel_tool_calls"])
        expect(body).not.toHaveProperty(member)
    }
  })

  it("may be limited to one at once", () => {
    const { anthropic, openai } = bodies({ tools, parallelToolCalls: false })
    expect(openai.parallel_tool_calls).toBe(false)
    expect(anthropic.tool_choice).toEqual({ type: "auto", disable_parallel_tool_use: true })
    expect(bodies({ tools, toolChoice: "none", parallelToolCalls: false }).anthropic.tool_choice).toEqual({
      type: "none"
    })
  })
})

describe("the form of an answer", () => {
  it("is any JSON, which Anthropic's models are told in words", () => {
    const { anthropic, google, openai } = bodies({ responseFormat: { type: "json-object" } })
    expect(openai.response_format).toEqual({ type: "json_object" })
    expect(google.generationConfig).toEqual({ responseMimeType: "application/json" })
    expect(anthropic.system).toMatch(/^Answer with one valid JSON object/)
    const told = bodies({ responseFormat: { type: "json-object" } }, [
      { role: "system", content: "Be kind." },
      ...hello
    ])
    expect(told.anthropic.system).toMatch(/^Be kind\.\n\nAnswer with one valid JSON object/)
  })

  it("is JSON by a schema", () => {
    const { anthropic, google, openai } = bodies({
      responseFormat: { type: "json-schema", name: "person", description: "Who", schema, strict: true }
    })
    expect(openai.response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "person", description: "Who", schema, strict: true }
    })
    expect(anthropic.output_config).toEqual({ format: { type: "json_schema", schema } })
    expect(google.generationConfig).toEqual({ responseMimeType: "application/json", responseJsonSchema: schema })
  })

  it("ends at certain words, and can be asked for again, where the vendor can", () => {
    const { anthropic, google, openai } = bodies({
      stop: ["END"],
      seed: 7,
      frequencyPenalty: 0.5,
      presencePenalty: -0.5
    })
    expect(openai).toMatchObject({ stop: ["END"], seed: 7, frequency_penalty: 0.5, presence_penalty: -0.5 })
    expect(anthropic.stop_sequences).toEqual(["END"])
    expect(anthropic).not.toHaveProperty("seed")
    expect(google.generationConfig).toEqual({
      stopSequences: ["END"],
      seed: 7,
      frequencyPenalty: 0.5,
      presencePenalty: -0.5
    })
    expect(makeCompletionRequest("openai", "openai/gpt-5", hello, { frequencyPenalty: 0.5 })).not.toHaveProperty(
      "frequency_penalty"
    )
  })
})
