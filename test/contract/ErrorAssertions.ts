import { assert } from "vitest"
import { Predicate } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"

/** Never in responses: stacks, SQL, file and internal paths. */
const innards = /\bat .+:\d+:\d+|node_modules|packages\/|select .+ from |relation "|\/internal\/|hunter2/i

/** The members of an error. OpenAI's shape has them inside of `error`; the A2A protocol has its own. */
const membersOf = ({ body }: HttpCallResponse): Readonly<Record<string, unknown>> => {
  const { error } = body
  if (!Predicate.isRecord(error)) return body
  return Predicate.isString(body["code"]) ? { ...body, error: error["message"] } : { error: error["type"], ...error }
}

export const readErrorCode = (answer: HttpCallResponse): unknown => membersOf(answer)["code"]

/** Asserts an error's format: JSON with `error`, `message`, `code` and `traceId`, without internals. */
export const assertError = (answer: HttpCallResponse, expected: { readonly status: number; readonly code: string }) => {
  const members = membersOf(answer)
  assert.deepStrictEqual(
    { status: answer.status, code: members["code"] },
    { status: expected.status, code: expected.code },
    answer.text
  )
  assert.match(answer.headers["content-type"] ?? "", /^application\/(a2a\+)?json/)
  for (const member of ["error", "message"]) {
    const text = members[member]
    assert.isTrue(typeof text === "string" && text.length > 0, `${member} in ${answer.text}`)
  }
  assert.match(String(answer.body["traceId"]), /^[0-9a-f]{32}$/)
  assert.isString(answer.headers["x-request-id"])
  assert.notMatch(answer.text, innards)
}

export const withoutTraceId = ({ text }: HttpCallResponse) => text.replace(/"traceId":"[0-9a-f]{32}"/, '"traceId":"…"')
