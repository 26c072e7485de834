import type { ParseResult } from "effect"

interface RequestIssue {
  /** Dotted path of the field; empty for the whole request. */
  readonly path: string
  readonly message: string
}

/** Names the field of a schema's issue. A first element can be missing in an empty array only. */
export const toRequestIssue = ({
  _tag,
  message,
  path
}: Pick<ParseResult.ArrayFormatterIssue, "_tag" | "message" | "path">): RequestIssue =>
  _tag === "Missing" && path.at(-1) === 0
    ? { path: path.slice(0, -1).join("."), message: "must not be empty" }
    : { path: path.join("."), message }

// Message of a schema for each alternative that does not match.
const alternative = /^Expected (.+), actual (.*)$/s
const absent = new Set(["undefined", "null"])

const plainType =
  /^(?:string|number|boolean|bigint|object|null|undefined|true|false|unknown|-?[\d.]+|".*"|[a-z][^{}<>]*)$/s

/** Describes an expected type without internal schema names. */
const describeType = (type: string) => {
  const bare = type.replace(/ \((?:Encoded|Type) side\)$/, "").replace(/^\((.*)\)$/s, "$1")
  if (/^(?:Struct$|\{)/.test(bare)) return "an object"
  if (/^(?:ReadonlyArray<|(?:readonly )?\[)/.test(bare) || bare.endsWith("[]")) return "an array"
  return plainType.test(bare) ? bare : "a valid value"
}

/** Splits a union into members; separators inside of brackets belong to a member. */
const splitUnion = (type: string): ReadonlyArray<string> => {
  const members: Array<string> = []
  let depth = 0
  let start = 0
  for (let at = 0; at < type.length; at += 1) {
    if ("{[(<".includes(type.charAt(at))) depth += 1
    else if ("}])>".includes(type.charAt(at))) depth -= 1
    else if (depth === 0 && type.startsWith(" | ", at)) {
      members.push(type.slice(start, at))
      start = at + 3
    }
  }
  return [...members, type.slice(start)]
}

const maximumQuote = 100
const quote = (value: string) =>
  value.length > maximumQuote ? `${value.slice(0, maximumQuote).toWellFormed()}…` : value

const withoutTypeNames = (message: string) => {
  const [, expected, actual] = alternative.exec(message) ?? []
  if (expected === undefined || actual === undefined) return message
  const types = splitUnion(expected)
  return `Expected ${[...new Set(types.map(describeType))].join(" | ")}, actual ${quote(actual)}`
}

const oneMessage = (messages: ReadonlyArray<string>): string => {
  const alternatives = messages.flatMap((message) => {
    const [, expected, actual] = alternative.exec(message) ?? []
    return expected === undefined || actual === undefined ? [] : [{ expected, actual }]
  })
  const [first] = alternatives
  if (first === undefined || alternatives.length < messages.length) {
    // A refinement is more specific than its alternative null.
    return messages.find((message) => !/^Expected (undefined|null), /.test(message)) ?? messages.join("; ")
  }
  const expected = alternatives.map((alternative) => alternative.expected).filter((text) => !absent.has(text))
  return `Expected ${expected.length === 0 ? first.expected : expected.join(" | ")}, actual ${first.actual}`
}

/** Whether all messages of a field only name alternatives. */
const onlyNamesAlternatives = (messages: ReadonlyArray<string>) =>
  messages.every((message) => alternative.test(message))

/** Returns one issue per field; omits the alternatives of a field with a nested issue. */
export const summarizeIssues = (issues: ReadonlyArray<RequestIssue>): ReadonlyArray<RequestIssue> => {
  const byPath = new Map<string, Array<string>>()
  const around = new Set<string>()
  for (const { message, path } of issues) {
    const known = byPath.get(path)
    if (known === undefined) byPath.set(path, [message])
    else known.push(message)
    for (let dot = path.indexOf("."); dot !== -1; dot = path.indexOf(".", dot + 1)) around.add(path.slice(0, dot))
  }
  return [...byPath].flatMap(([path, messages]) =>
    around.has(path) && onlyNamesAlternatives(messages)
      ? []
      : [{ path, message: withoutTypeNames(oneMessage([...new Set(messages)])) }]
  )
}
