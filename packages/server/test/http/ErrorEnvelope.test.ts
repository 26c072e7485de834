import { wrapErrorBody } from "@berth/server/http/ErrorEnvelope"
import { HttpServerResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const trace = Option.some(traceId)
const group = { success: false, status: "error" }

const bodyOf = (response: HttpServerResponse.HttpServerResponse): unknown =>
  response.body._tag === "Uint8Array" ? JSON.parse(new TextDecoder().decode(response.body.body)) : undefined

describe("wrapErrorBody", () => {
  const error = HttpServerResponse.unsafeJson({ error: "x", status: "own" }, { status: 404, headers: { a: "b" } })

  it("wrapErrorBody adds the trace and the group's members, and keeps existing members", () => {
    const response = wrapErrorBody(error, group, trace)
    assert.deepStrictEqual(bodyOf(response), { success: false, status: "own", error: "x", traceId })
    assert.deepStrictEqual([response.status, response.headers["a"]], [404, "b"])
    assert.strictEqual(response.body.contentLength, JSON.stringify(bodyOf(response)).length)
  })

  it("wrapErrorBody adds the group's members where there is no trace", () =>
    assert.deepStrictEqual(bodyOf(wrapErrorBody(error, group, Option.none())), {
      success: false,
      status: "own",
      error: "x"
    }))

  it("wrapErrorBody changes no success, no other JSON and no empty body", () => {
    const others = [
      HttpServerResponse.unsafeJson({ error: "x" }, { status: 200 }),
      HttpServerResponse.unsafeJson(["x"], { status: 500 }),
      HttpServerResponse.text("no JSON", { status: 500 }),
      HttpServerResponse.empty({ status: 404 })
    ]
    for (const response of others) assert.strictEqual(wrapErrorBody(response, group, trace), response)
  })
})
