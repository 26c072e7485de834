import { makeRequestContext } from "@berth/server/http/RequestSpan"
import { HttpServerRequest } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Option, Tracer } from "effect"

class Port extends Context.Tag("Port")<Port, string>() {}

const services = Context.make(Port, "Bergen")

const requestWith = (headers: Record<string, string>) =>
  HttpServerRequest.fromWeb(new Request("http://localhost/api/settings", { headers }))

const traceId = "0af7651916cd43dd8448eb211c80319c"

const spanIn = (context: Context.Context<never>) => Option.getOrThrow(Context.getOption(context, Tracer.ParentSpan))

describe("what holds for all of a request", () => {
  it.effect("The context of a request has its services and its span", () =>
    Effect.gen(function* () {
      const span = yield* Effect.currentSpan
      const context = yield* makeRequestContext(requestWith({}), services)
      assert.strictEqual(Context.get(context, Port), "Bergen")
      assert.strictEqual(spanIn(context).spanId, span.spanId)
    }).pipe(Effect.withSpan("http.server GET"))
  )

  it.effect("The context of a request has a new span and trace by default", () =>
    Effect.gen(function* () {
      const one = spanIn(yield* makeRequestContext(requestWith({}), services))
      const other = spanIn(yield* makeRequestContext(requestWith({}), services))
      assert.match(one.traceId, /^[0-9a-f]{32}$/)
      assert.notStrictEqual(one.traceId, other.traceId)
    })
  )

  it.effect("The context of a request continues the caller's trace", () =>
    Effect.gen(function* () {
      const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
      assert.strictEqual(spanIn(yield* makeRequestContext(requestWith(headers), services)).traceId, traceId)
    })
  )
})
