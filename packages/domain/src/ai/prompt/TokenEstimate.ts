import { oncePerObject } from "../../shared/ObjectMemo.ts"
import type { ChatMessage, ChatOptions, ToolSpec } from "../chat/ModelChat.ts"

// Tokens around a message (roles and separators), and around a tool or a tool call.
export const tokensAroundMessage = 4
const tokensAroundTool = 8

// Vendors count a few hundred to 1,600 tokens for an image of common size.
const tokensOfImage = 1_600

const isLower = (code: number) => code >= 0x61 && code <= 0x7a
const isUpper = (code: number) => code >= 0x41 && code <= 0x5a
const isDigit = (code: number) => code >= 0x30 && code <= 0x39
const isSpace = (code: number) => code === 0x20 || (code >= 0x09 && code <= 0x0d)

const tokensOfWord = (letters: number): number => {
  if (letters <= 4) return 1
  return letters <= 8 ? 1 + (letters - 4) * 0.3 : 2.2 + (letters - 8) * 0.5
}
const tokensOfCapitals = (letters: number) => Math.max(1, letters * 0.6)
// A single space belongs to the following word, but not to a number or a rare script.
const tokensOfSpaces = (spaces: number, isSeparate: boolean) =>
  spaces === 0 || (spaces === 1 && !isSeparate) ? 0 : 0.6 + spaces * 0.4

/** Minimum length of a run of letters and digits that is not a word, such as base64; shorter if it mixes both. */
const minimumOpaqueRun = 16
const minimumMixedRun = 6
const tokensOfOpaqueCharacter = 0.8

/** Tokens of a UTF-16 code unit beyond ASCII, estimated from byte-level tokenizers. */
const tokensOfCodeUnit = (code: number): number => {
  // Latin and combining marks
  if (code < 0x250 || (code >= 0x300 && code < 0x370)) return 1.2
  // Cyrillic
  if (code >= 0x400 && code < 0x530) return 0.8
  // Greek, Hebrew, Arabic and others of two bytes
  if (code < 0x800) return 1.4
  // Halves of four bytes: emoji, rare ideographs
  if (code >= 0xd800 && code < 0xe000) return 2
  // Chinese, Japanese, Korean and their punctuation
  if ((code >= 0x3000 && code < 0xa000) || (code >= 0xac00 && code < 0xd7b0) || code >= 0xff00) return 1.6
  // Ethiopic
  if (code >= 0x1200 && code < 0x1380) return 3
  // Further Latin and Greek, punctuation
  if (code >= 0x1e00 && code < 0x2070) return 1.5
  return 2.2
}

/** Estimates the tokens of a text that arrives in parts, by a single pass over each. Not safe for concurrent use. */
interface TokenCounter {
  readonly add: (text: string) => void
  /** The tokens of all parts together. */
  readonly count: () => number
}

export const makeTokenCounter = (): TokenCounter => {
  let total = 0
  // Current run of letters and digits: its length, its digits, its tokens as words, and its last word.
  let run = 0
  let digits = 0
  let tokensOfRun = 0
  let lower = 0
  let upper = 0
  let spaces = 0

  const tokensOfLastWord = () => {
    if (lower > 0) return tokensOfWord(lower + Math.min(upper, 1)) + (upper > 1 ? tokensOfCapitals(upper - 1) : 0)
    return upper > 0 ? tokensOfCapitals(upper) : 0
  }
  const endWord = () => {
    tokensOfRun += tokensOfLastWord()
    lower = 0
    upper = 0
  }
  const tokensOfOpenRun = () => {
    const tokens = tokensOfRun + tokensOfLastWord()
    const isOpaque = run >= (digits > 0 && digits < run ? minimumMixedRun : minimumOpaqueRun)
    return isOpaque ? Math.max(tokens, run * tokensOfOpaqueCharacter) : tokens
  }
  const endRun = () => {
    total += tokensOfOpenRun()
    run = 0
    digits = 0
    tokensOfRun = 0
    lower = 0
    upper = 0
  }
  const endSpaces = (isSeparate: boolean) => {
    total += tokensOfSpaces(spaces, isSeparate)
    spaces = 0
  }

  return {
    add: (text) => {
      for (let at = 0; at < text.length; at += 1) {
        const code = text.charCodeAt(at)
        if (isLower(code)) {
          if (spaces > 0) endSpaces(false)
          lower += 1
          run += 1
        } else if (isUpper(code)) {
          if (spaces > 0) endSpaces(false)
          if (lower > 0) endWord()
          upper += 1
          run += 1
        } else if (isDigit(code)) {
          if (spaces > 0) endSpaces(true)
          endWord()
          tokensOfRun += 1
          digits += 1
          run += 1
        } else {
          if (run > 0) endRun()
          if (isSpace(code)) spaces += code === 0x20 ? 1 : 1.01
          else {
            if (spaces > 0) endSpaces(code >= 0x80)
            total += code < 0x80 ? 1 : tokensOfCodeUnit(code)
          }
        }
      }
    },
    count: () => Math.ceil(total + tokensOfOpenRun() + tokensOfSpaces(spaces, false))
  }
}

/**
 * Estimates the tokens of a text: an upper bound of vendors' tokenizers, about 1.5 times their count for prose. Single
 * pass, for prompts of up to 1 MiB.
 */
export const estimateTokens = (text: string): number => {
  const counter = makeTokenCounter()
  counter.add(text)
  return counter.count()
}

export const estimateImageTokens = (message: ChatMessage): number =>
  message.role === "user" ? tokensOfImage * (message.parts ?? []).filter(({ type }) => type === "image").length : 0

const tokensOf = (message: ChatMessage): number => {
  const text = tokensAroundMessage + estimateTokens(message.content)
  switch (message.role) {
    case "system":
      return text
    case "user":
      return text + estimateImageTokens(message)
    case "tool":
      return text + estimateTokens(message.toolCallId + message.toolName)
    case "assistant":
      return (message.toolCalls ?? []).reduce(
        (sum, call) => sum + tokensAroundTool + estimateTokens(call.id + call.name + call.arguments),
        text
      )
  }
}

// Kept: a gateway call needs the estimate of its prompt up to seven times, and a pass over 1 MiB takes milliseconds.
const estimateConversationTokens = oncePerObject((messages: ReadonlyArray<ChatMessage>) =>
  messages.reduce((sum, message) => sum + tokensOf(message), 0)
)

const estimateToolTokens = oncePerObject((tools: ReadonlyArray<ToolSpec>) =>
  tools.reduce(
    (sum, { description, name, parameters }) =>
      sum + tokensAroundTool + estimateTokens(name + description + JSON.stringify(parameters)),
    0
  )
)

/** Estimates the tokens of a prompt with its tools. The lists must not change afterwards. */
export const estimatePromptTokens = (messages: ReadonlyArray<ChatMessage>, tools?: ReadonlyArray<ToolSpec>): number =>
  estimateConversationTokens(messages) + (tools === undefined ? 0 : estimateToolTokens(tools))

/** Estimates the tokens of a request: its prompt and the format of its answer. */
export const estimateRequestTokens = ({
  messages,
  options
}: {
  readonly messages: ReadonlyArray<ChatMessage>
  readonly options?: Pick<ChatOptions, "tools" | "responseFormat"> | undefined
}): number =>
  estimatePromptTokens(messages, options?.tools) +
  (options?.responseFormat === undefined ? 0 : estimateTokens(JSON.stringify(options.responseFormat)))
