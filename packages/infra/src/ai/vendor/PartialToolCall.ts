import { Option, Schema } from "effect"

/** A partially received tool call; members not yet received are empty. */
export interface PartialToolCall {
  /** Index of the call's fragments; null if the vendor sends none. */
  readonly index: number | null
  readonly id: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
  /** Must be sent back to the vendor with the call. */
  readonly signature: string | null
}

export interface ToolCallFragment {
  readonly index?: number | null | undefined
  readonly id?: string | null | undefined
  readonly name?: string | null | undefined
  readonly arguments?: string | undefined
  readonly signature?: string | null | undefined
}

const isAbsent = (text: string | null | undefined) => text === undefined || text === null || text === ""

/** Adds a fragment to its call, or begins a new call. Some vendors number every call 0, or none. */
export const addToolCallFragment = (
  calls: ReadonlyArray<PartialToolCall>,
  fragment: ToolCallFragment
): ReadonlyArray<PartialToolCall> => {
  const index = fragment.index ?? null
  const id = fragment.id ?? ""
  const at = index === null ? calls.length - 1 : calls.findLastIndex((call) => call.index === index)
  const begun = calls[at]
  const isMore =
    id === "" ? index !== null || isAbsent(fragment.name) : begun?.id === id || (begun?.id === "" && index !== null)
  if (begun === undefined || !isMore) {
    const { arguments: text = "", name, signature } = fragment
    return [...calls, { index, id, name: name ?? "", arguments: text, signature: signature ?? null }]
  }
  return calls.with(at, {
    ...begun,
    name: begun.name === "" ? (fragment.name ?? "") : begun.name,
    arguments: begun.arguments + (fragment.arguments ?? ""),
    signature: begun.signature ?? fragment.signature ?? null
  })
}

const asJson = Schema.decodeUnknownOption(Schema.parseJson())
const isObject = Schema.is(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/**
 * Returns the calls of an answer that reached its token limit; keeps the last call only if its arguments are complete.
 */
export const dropTruncatedCall = (calls: ReadonlyArray<PartialToolCall>): ReadonlyArray<PartialToolCall> => {
  const last = calls.at(-1)
  return last === undefined || Option.isSome(asJson(last.arguments)) ? calls : calls.slice(0, -1)
}

/** Parses the arguments as the object that vendors require; any other text becomes the member `arguments`. */
export const parseToolArguments = (text: string): Readonly<Record<string, unknown>> => {
  if (text.trim() === "") return {}
  return Option.match(Option.filter(asJson(text), isObject), {
    onNone: () => ({ arguments: text }),
    onSome: (value) => (Array.isArray(value) ? { arguments: text } : value)
  })
}

/** OpenAI's finish reason for an answer that ends in tool calls. */
export const toolCallsFinishReason = "tool_calls"
