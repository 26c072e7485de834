import { assert } from "vitest"
import { Predicate } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"

/** Content that responses never contain: stacks, SQL, file and internal paths. */
const innards = /\bat .+:\d+:\d+|node_modules|packages\/|select .+ from |relation "|\/internal\/|hunter2/i

/** The members of an error. Those of OpenAI's shape are inside of `error`; the A2A protocol's has its own members there. */
const membersOf = ({ body }: HttpCallResponse): Readonly<Record<string, unknown>> => {
  const { error } = body
  if (!Predicate.isRecord(error)) return body
  return Predicate.isString(body["code"]) ? { ...body, error: error["message"] } : { error: error["type"], ...error }
}

export const readErrorCode = (answer: HttpCallResponse): unknown => membersOf(answer)["code"]

/** An error as every error is: JSON with `error`, `message`, `code` and `traceId`, and nothing of what is inside. */
export const assertError = (answer: HttpCallResponse, expected: { readonly status: number; readonly code: string }) => {
  const members = membersOf(answer)
  assert.deepStrictEqual(
    { status: answer.status, code: members["code"] },
    { status: expected.status, code: expected.code },
    answer.text
  )
  assert.match(answer.headers["content-type"] ?? "", /^application\/json/)
  for (const member of ["error", "message"]) {
    const text = members[member]
    assert.isTrue(typeof text === "string" && text.length > 0, `${member} in ${answer.text}`)
  }
  assert.match(String(answer.body["traceId"]), /^[0-9a-f]{32}$/)
  assert.isString(answer.headers["x-request-id"])
  assert.notMatch(answer.text, innards)
}

/** The text of an answer with what is its own alone taken out. */
export const withoutTraceId = ({ text }: HttpCallResponse) => text.replace(/"traceId":"[0-9a-f]{32}"/, '"traceId":"…"')
