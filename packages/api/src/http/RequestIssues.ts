export interface RequestIssue {
  /** Dotted path to the field; empty for the whole request. */
  readonly path: string
  readonly message: string
}

// What a schema says of each alternative that did not fit.
const alternative = /^Expected (.+), actual (.*)$/s
const absent = new Set(["undefined", "null"])

/** A library's words for what is expected, in a caller's. */
const inPlainWords = (message: string) =>
  message.replace(
    /^Expected (?:Struct|\{ .+ \})(?: \((?:Encoded|Type) side\))?, actual /s,
    "Expected an object, actual "
  )

const oneMessage = (messages: ReadonlyArray<string>): string => {
  const alternatives = messages.flatMap((message) => {
    const [, expected, actual] = alternative.exec(message) ?? []
    return expected === undefined || actual === undefined ? [] : [{ expected, actual }]
  })
  const [first] = alternatives
  if (first === undefined || alternatives.length < messages.length) {
    // A refinement says more than that the alternative to it is null.
    return messages.find((message) => !/^Expected (undefined|null), /.test(message)) ?? messages.join("; ")
  }
  const expected = alternatives.map((one) => one.expected).filter((one) => !absent.has(one))
  return `Expected ${expected.length === 0 ? first.expected : expected.join(" | ")}, actual ${first.actual}`
}

/** Whether all that a field was told is that it might have been something else, or left out. */
const mightBeOther = (messages: ReadonlyArray<string>) => messages.every((message) => alternative.test(message))

/**
 * One issue a field. An optional field or one of several values fails once for each alternative, and is told of once; when
 * something inside it is wrong, that it might have been something else is no news.
 */
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
    around.has(path) && mightBeOther(messages)
      ? []
      : [{ path, message: inPlainWords(oneMessage([...new Set(messages)])) }]
  )
}
