import * as UuidIdGenerator from "@berth/infra/crypto/UuidIdGenerator"
import * as HttpListener from "@berth/server/http/HttpListener"
import { HttpServer } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { parseRawResponse, sendBytes } from "../../../../test/support/RawHttp.ts"

const portOf = Effect.map(HttpServer.HttpServer, ({ address }) => (address._tag === "TcpAddress" ? address.port : 0))

const listener = (arrival: { readonly headers: Duration.Duration; readonly whole: Duration.Duration }) =>
  HttpListener.layer({ host: "127.0.0.1", port: 0, drain: Duration.seconds(1), arrival }).pipe(
    Layer.provide(UuidIdGenerator.layer)
  )

describe("A listener", () => {
  it.scopedLive("answers who takes too long to say what he wants, in JSON, and lets go of him", () =>
    Effect.gen(function* () {
      const port = yield* portOf
      const text = yield* sendBytes(port, ["GET / HTTP/1.1\r\nhost: a\r\nx-slow: "])
      const { headers, status, text: body } = parseRawResponse(text)
      assert.strictEqual(status, 408, text)
      assert.deepInclude(JSON.parse(body), { code: "request_timeout" })
      assert.match(String(headers["x-request-id"]), /^req_/)
    }).pipe(Effect.provide(listener({ headers: Duration.millis(300), whole: Duration.millis(600) })))
  )

  it.scopedLive("answers before its routes are there", () =>
    Effect.gen(function* () {
      const port = yield* portOf
      const { headers, status, text } = parseRawResponse(yield* sendBytes(port, ["GET / HTTP/1.1\r\nhost: a\r\n\r\n"]))
      assert.strictEqual(status, 503)
      assert.deepInclude(JSON.parse(text), { code: "unavailable" })
      assert.strictEqual(headers["retry-after"], "1")
    }).pipe(Effect.provide(listener({ headers: Duration.minutes(1), whole: Duration.minutes(1) })))
  )
})
