import { Option, Schema } from "effect"

/** A call of a tool as an answer brings it, perhaps in pieces. What the vendor has not said yet is empty. */
export interface PartialToolCall {
  /** Ties the pieces of one call together; null where the vendor does not number them. */
  readonly index: number | null
  readonly id: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
  /** What the vendor wants back with it. */
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

/** Calls with a further piece of the one it belongs to, or with a new one: some number every call 0, or none. */
export const addToolCallFragment = (
  calls: ReadonlyArray<PartialToolCall>,
  piece: ToolCallFragment
): ReadonlyArray<PartialToolCall> => {
  const index = piece.index ?? null
  const id = piece.id ?? ""
  const at = index === null ? calls.length - 1 : calls.findLastIndex((call) => call.index === index)
  const begun = calls[at]
  const isMore =
    id === "" ? index !== null || isAbsent(piece.name) : begun?.id === id || (begun?.id === "" && index !== null)
  if (begun === undefined || !isMore) {
    const { arguments: text = "", name, signature } = piece
    return [...calls, { index, id, name: name ?? "", arguments: text, signature: signature ?? null }]
  }
  return calls.with(at, {
    ...begun,
    name: begun.name === "" ? (piece.name ?? "") : begun.name,
    arguments: begun.arguments + (piece.arguments ?? ""),
    signature: begun.signature ?? piece.signature ?? null
  })
}

const asJson = Schema.decodeUnknownOption(Schema.parseJson())
const isObject = Schema.is(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The calls of an answer that was cut at its longest: the last one counts only if nothing of it is missing. */
export const dropTruncatedCall = (calls: ReadonlyArray<PartialToolCall>): ReadonlyArray<PartialToolCall> => {
  const last = calls.at(-1)
  return last === undefined || Option.isSome(asJson(last.arguments)) ? calls : calls.slice(0, -1)
}

/** The arguments of a call as the object that vendors want; what a model wrote wrongly stands in it as it is. */
export const parseToolArguments = (text: string): Readonly<Record<string, unknown>> => {
  if (text.trim() === "") return {}
  return Option.match(Option.filter(asJson(text), isObject), {
    onNone: () => ({ arguments: text }),
    onSome: (value) => (Array.isArray(value) ? { arguments: text } : value)
  })
}

/** The reason of an answer that ends in calls, in the words of OpenAI's protocol. */
export const toolCallsFinishReason = "tool_calls"
