const chunk = (choice: object | null, more: object = {}) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    model: "gpt-4o-mini",
    choices: choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }],
    ...more
  })}\n\n`

/** Chunks of a streamed answer in the OpenAI format. */
export const openingEvents = chunk({ delta: { role: "assistant", content: "" } })

export const deltaEvent = (content: string): string => chunk({ delta: { content } })

export const closingEvents = (pieces: number): string =>
  [
    chunk({ delta: {}, finish_reason: "stop" }),
    chunk(null, { usage: { prompt_tokens: 20, completion_tokens: pieces, total_tokens: 20 + pieces } }),
    "data: [DONE]\n\n"
  ].join("")

export const modelList = JSON.stringify({
  object: "list",
  data: [{ id: "gpt-4o-mini", object: "model", owned_by: "openai" }]
})

/** The same answer as one body. */
export const wholeCompletion = (pieces: ReadonlyArray<string>): string =>
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "gpt-4o-mini",
    choices: [{ index: 0, message: { role: "assistant", content: pieces.join("") }, finish_reason: "stop" }],
    usage: { prompt_tokens: 20, completion_tokens: pieces.length, total_tokens: 20 + pieces.length }
  })
