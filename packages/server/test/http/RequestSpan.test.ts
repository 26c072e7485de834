import { requestSpans } from "@berth/server/http/RequestSpan"
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FiberId, Option } from "effect"

const requestWith = (headers: Record<string, string>) =>
  HttpServerRequest.fromWeb(new Request("http://localhost/api/settings?token=secret", { headers }))

const traceId = "0af7651916cd43dd8448eb211c80319c"
const { close, open } = requestSpans(false)
const unsent = { headersSent: false, statusCode: 499 }

describe("The span of a request", () => {
  it.effect("The span of a request has a new trace by default, and no attributes without an exporter", () =>
    Effect.gen(function* () {
      const one = yield* open(requestWith({}))
      const other = yield* open(requestWith({}))
      assert.match(one.traceId, /^[0-9a-f]{32}$/)
      assert.notStrictEqual(one.traceId, other.traceId)
      yield* close(one, Exit.succeed(HttpServerResponse.empty()), unsent)
      assert.strictEqual(one.attributes.size, 0)
    })
  )

  it.effect("The span of a request continues the caller's trace", () =>
    Effect.gen(function* () {
      const span = yield* open(requestWith({ traceparent: `00-${traceId}-b7ad6b7169203331-01` }))
      assert.strictEqual(span.traceId, traceId)
    })
  )

  for (const [what, traceparent, isValid] of [
    ["a later version", `01-${traceId}-b7ad6b7169203331-01`, true],
    ["more fields of a later version", `cc-${traceId}-b7ad6b7169203331-01-what`, true],
    ["more fields", `00-${traceId}-b7ad6b7169203331-01-what`, false],
    ["the version ff", `ff-${traceId}-b7ad6b7169203331-01`, false],
    ["capitals", `00-${traceId.toUpperCase()}-b7ad6b7169203331-01`, false],
    ["flags that are not hexadecimal", `00-${traceId}-b7ad6b7169203331-.0`, false],
    ["short flags", `00-${traceId}-b7ad6b7169203331-1`, false],
    ["a trace of zeros", `00-${"0".repeat(32)}-b7ad6b7169203331-01`, false],
    ["a parent of zeros", `00-${traceId}-${"0".repeat(16)}-01`, false]
  ] as const)
    it.effect(`The span of a request ${isValid ? "continues" : "ignores"} a traceparent with ${what}`, () =>
      Effect.gen(function* () {
        const span = yield* open(requestWith({ traceparent }))
        assert.strictEqual(Option.isSome(span.parent), isValid)
        assert.match(span.traceId, isValid ? new RegExp(traceId) : /^[0-9a-f]{32}$/)
      })
    )

  it.effect("The span of a request ignores trace ids of other formats", () =>
    Effect.gen(function* () {
      const span = yield* open(requestWith({ b3: "text-text-1", "x-b3-traceid": "text", "x-b3-spanid": "text" }))
      assert.match(span.traceId, /^[0-9a-f]{32}$/)
    })
  )

  it.effect("An exported span describes request and response, without secrets and values of the query", () =>
    Effect.gen(function* () {
      const exported = requestSpans(true)
      const span = yield* exported.open(requestWith({ authorization: "Bearer secret", host: "localhost" }))
      const headers = { "set-cookie": "secret" }
      yield* exported.close(span, Exit.succeed(HttpServerResponse.empty({ status: 204, headers })), unsent)
      const attributes = Object.fromEntries(span.attributes)
      assert.strictEqual(attributes["url.full"], "http://localhost/api/settings?token=REDACTED")
      assert.strictEqual(attributes["url.query"], "token=REDACTED")
      assert.strictEqual(attributes["http.request.method"], "GET")
      assert.strictEqual(attributes["http.response.status_code"], 204)
      assert.notInclude(JSON.stringify(attributes), "secret")
      assert.strictEqual(span.status._tag, "Ended")
    })
  )

  it.effect("The exported span of a failed request has the status of the head that was sent, if any", () =>
    Effect.gen(function* () {
      const exported = requestSpans(true)
      const statusAfter = Effect.fnUntraced(function* (response: typeof unsent) {
        const span = yield* exported.open(requestWith({ host: "localhost" }))
        yield* exported.close(span, Exit.interrupt(FiberId.none), response)
        return span.attributes.get("http.response.status_code")
      })
      assert.isUndefined(yield* statusAfter(unsent))
      assert.strictEqual(yield* statusAfter({ headersSent: true, statusCode: 200 }), 200)
    })
  )
})
