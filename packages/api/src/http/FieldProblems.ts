/* Does not import Effect, since browser pages import this module. */

import { readListMember, readTextMember } from "./JsonMembers.ts"

/** Errors of one field whose message does not name it. */
const fieldsByCode: Readonly<Record<string, string>> = { email_already_taken: "email" }

const capitalize = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

const readNamed = (body: unknown): ReadonlyArray<readonly [string, string]> => {
  const message = readTextMember(body, "message") ?? ""
  const [, named, problem] = /^(\w+): (.+)$/s.exec(message) ?? []
  const field = named ?? fieldsByCode[readTextMember(body, "code") ?? ""]
  return field === undefined ? [] : [[field, problem ?? message]]
}

/** Returns the problems of an error body by field; empty if it does not concern fields. */
export const readFieldProblems = (body: unknown): ReadonlyMap<string, string> => {
  const issues = readListMember(body, "issues").map(
    (issue) => [readTextMember(issue, "path") ?? "", readTextMember(issue, "message") ?? ""] as const
  )
  const problems = readListMember(body, "problems").flatMap(readNamed)
  const problemList = [issues, problems].find((list) => list.length > 0) ?? readNamed(body)
  return new Map(problemList.map(([field, problem]) => [field, capitalize(problem)]))
}
