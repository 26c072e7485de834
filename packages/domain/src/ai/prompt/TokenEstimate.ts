import type { ChatMessage, ToolSpec } from "../chat/ModelChat.ts"

const encoder = new TextEncoder()

// What roles and separators take beside the text of a message; a tool and a call of one have about as much around them.
const tokensAroundMessage = 4
const tokensAroundTool = 8

// What vendors count for an image of usual size, between a few hundred and sixteen hundred.
const tokensOfImage = 1_000

/** About how many tokens a text takes: one per four bytes of UTF-8, rounded up, which rather over- than underrates prose. */
export const estimateTokens = (text: string): number => Math.ceil(encoder.encode(text).length / 4)

const tokensOf = (message: ChatMessage): number => {
  const said = tokensAroundMessage + estimateTokens(message.content)
  switch (message.role) {
    case "system":
      return said
    case "user":
      return said + tokensOfImage * (message.parts ?? []).filter(({ type }) => type === "image").length
    case "tool":
      return said + estimateTokens(message.toolCallId + message.toolName)
    case "assistant":
      return (message.toolCalls ?? []).reduce(
        (sum, { arguments: text, id, name }) => sum + tokensAroundTool + estimateTokens(id + name + text),
        said
      )
  }
}

/** About how many tokens the tools on offer take in a prompt. */
export const estimateToolTokens = (tools: ReadonlyArray<ToolSpec>): number =>
  tools.reduce(
    (sum, { description, name, parameters }) =>
      sum + tokensAroundTool + estimateTokens(name + description + JSON.stringify(parameters)),
    0
  )

/** About how many tokens a conversation takes as a prompt, with the tools on offer. */
export const estimatePromptTokens = (
  messages: ReadonlyArray<ChatMessage>,
  tools: ReadonlyArray<ToolSpec> = []
): number => messages.reduce((sum, message) => sum + tokensOf(message), estimateToolTokens(tools))
