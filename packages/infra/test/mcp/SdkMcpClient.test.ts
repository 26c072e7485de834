import { maximumMcpBytes, McpClient, mcpCallTimeLimit, mcpListTimeLimit } from "@berth/domain/skills/mcp/McpClient"
import * as SdkMcpClient from "@berth/infra/mcp/SdkMcpClient"
import * as OutboundClient from "@berth/infra/net/OutboundClient"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted, TestClock } from "effect"
import type { ServerResponse } from "node:http"
import { type FakeMcpServerOptions, startFakeMcpServer } from "../../../../test/fakes/FakeMcpServer.ts"

const secret = "Bearer sk-of-notes"
const toText = (text: string) => ({ content: [{ type: "text" as const, text }] })

/** A client that may reach loopback, or public addresses only, and a server. */
const make = (options: FakeMcpServerOptions, { isAllowed = true } = {}) =>
  Effect.gen(function* () {
    const { requests, url } = yield* startFakeMcpServer(options)
    const client = yield* Effect.provide(
      McpClient,
      Layer.provide(
        SdkMcpClient.layer,
        Layer.succeed(
          OutboundClient.OutboundClient,
          OutboundClient.make((address) => isAllowed && address === "127.0.0.1")
        )
      )
    )
    const server = { name: "notes", url, headers: { Authorization: Redacted.make(secret) } }
    return {
      requests,
      list: client.listTools(server),
      call: (tool: string, args = {}) => client.callTool(server, tool, args)
    }
  })

const reasonOf = <A>(effect: Effect.Effect<A, { readonly reason: string }>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

it.scopedLive("SdkMcpClient lists and calls the tools of a server with its headers", () =>
  Effect.gen(function* () {
    const inputSchema = { type: "object" as const, properties: { text: { type: "string" } } }
    const { call, list, requests } = yield* make({
      tools: [{ name: "echo", description: "Echoes.", inputSchema }],
      call: (name, args) => ({
        content: [
          { type: "text", text: `${name} ${JSON.stringify(args)}` },
          { type: "image", data: "aGk=", mimeType: "image/png" }
        ]
      })
    })
    const [tool, ...rest] = yield* list
    assert.isEmpty(rest)
    assert.deepInclude(tool, { name: "echo", description: "Echoes.", inputSchema })
    assert.strictEqual(
      yield* call("echo", { text: "hi" }),
      'echo {"text":"hi"}\n[A part of the type image was left out.]'
    )
    assert.isTrue(
      requests.every(({ headers }) => headers.authorization === secret && headers.traceparent === undefined)
    )
  })
)

it.scopedLive("SdkMcpClient reports a failed tool and an error of the protocol without the secrets they repeat", () =>
  Effect.gen(function* () {
    const { call } = yield* make({
      call: (name, _, { headers }) => {
        if (name === "throw") throw new Error(`No access with ${headers.authorization}`)
        return { ...toText(`Refused: ${headers.authorization}`), isError: name === "fail" }
      }
    })
    assert.strictEqual(yield* reasonOf(call("fail")), "Refused: [redacted]")
    assert.match(yield* reasonOf(call("throw")), /No access with \[redacted\]$/)
    assert.strictEqual(yield* call("leak"), "Refused: [redacted]")
  })
)

it.scopedLive("SdkMcpClient follows no redirect, to a private network or elsewhere", () =>
  Effect.gen(function* () {
    const inner = yield* startFakeMcpServer({})
    for (const location of [inner.url, "/elsewhere", "http://169.254.169.254/"]) {
      const { list, requests } = yield* make({
        intercept: (_, response) => {
          response.writeHead(307, { location }).end()
          return true
        }
      })
      assert.strictEqual(yield* reasonOf(list), "It answered with the redirect 307, which is not followed.")
      assert.lengthOf(requests, 1)
    }
    assert.isEmpty(inner.requests)
  })
)

it.scopedLive("SdkMcpClient reaches no private address and sends it nothing", () =>
  Effect.gen(function* () {
    const { list, requests } = yield* make({}, { isAllowed: false })
    assert.match(yield* reasonOf(list), /not on the public internet/)
    assert.isEmpty(requests)
  })
)

it.scopedLive("SdkMcpClient stops reading a huge answer, in an event stream and as JSON", () =>
  Effect.gen(function* () {
    const huge = yield* make({ call: () => toText("x".repeat(maximumMcpBytes)) })
    assert.strictEqual(yield* reasonOf(huge.call("flood")), "Its answers have more than 1048576 bytes.")
    const json = yield* make({
      intercept: (_, response) => {
        response.writeHead(200, { "content-type": "application/json" }).end(`"${"x".repeat(maximumMcpBytes)}"`)
        return true
      }
    })
    assert.strictEqual(yield* reasonOf(json.list), "Its answers have more than 1048576 bytes.")
  })
)

it.scopedLive("SdkMcpClient names the status of a server that fails, and not its text", () =>
  Effect.gen(function* () {
    for (const status of [401, 500]) {
      const { list } = yield* make({
        intercept: (request, response) => {
          response.writeHead(status).end(`Error for ${request.headers.authorization}`)
          return true
        }
      })
      assert.strictEqual(yield* reasonOf(list), `It answered with status ${status}.`)
    }
    const { list } = yield* make({
      intercept: (_, response) => {
        response.writeHead(200, { "content-type": "text/html" }).end("<p>hello")
        return true
      }
    })
    assert.strictEqual(yield* reasonOf(list), "It does not respond in the protocol.")
  })
)

it.scoped("SdkMcpClient gives up a server that is silent, before or within an answer", () =>
  Effect.gen(function* () {
    const reached = yield* Deferred.make<void>()
    const silent = yield* make({
      intercept: () => {
        Deferred.unsafeDone(reached, Effect.void)
        return true
      }
    })
    const listing = yield* Effect.fork(reasonOf(silent.list))
    yield* Deferred.await(reached)
    yield* TestClock.adjust(mcpListTimeLimit)
    assert.strictEqual(yield* Fiber.join(listing), "It did not answer within 5s.")

    const called = yield* Deferred.make<void>()
    const slow = yield* make({
      call: () => {
        Deferred.unsafeDone(called, Effect.void)
        return new Promise(() => {})
      }
    })
    const calling = yield* Effect.fork(reasonOf(slow.call("wait")))
    yield* Deferred.await(called)
    yield* TestClock.adjust(mcpCallTimeLimit)
    assert.strictEqual(yield* Fiber.join(calling), "It did not answer within 1m.")
  })
)

const idOf = (body: string) => /"id":(\d+)/.exec(body)?.[1]

/** Responds to the first tool call, after the initialization and its notification, with frames of an event stream. */
const answerCall = (
  write: (response: ServerResponse, id: string | undefined) => void
): NonNullable<FakeMcpServerOptions["intercept"]> => {
  let calls = 0
  return (request, response) => {
    if (++calls !== 3) return false
    let body = ""
    request.on("data", (bytes: Buffer) => (body += bytes.toString()))
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      write(response, idOf(body))
    })
    return true
  }
}
const toFrame = (message: string) => `data: ${message}\n\n`

it.scopedLive("SdkMcpClient disconnects a server that sends many requests, and answers few of them", () =>
  Effect.gen(function* () {
    let answered = 0
    let end = () => {}
    const first = answerCall((response, id) => {
      end = () => response.end(toFrame(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`))
      for (let ping = 0; ping < 100; ping++) response.write(toFrame(`{"jsonrpc":"2.0","id":${ping},"method":"ping"}`))
    })
    const { call } = yield* make({
      intercept: (request, response) => {
        if (first(request, response)) return true
        if (++answered === 102) end()
        return false
      }
    })
    assert.strictEqual(yield* reasonOf(call("flood")), "It sent too many requests of its own.")
    assert.isAtMost(answered, 16)
  })
)

it.scopedLive("SdkMcpClient reports a result that is nested too deep as a failure of the server", () =>
  Effect.gen(function* () {
    const depth = 100_000
    const nested = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
    const { call } = yield* make({
      intercept: answerCall((response, id) =>
        response.end(toFrame(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${nested}}}`))
      )
    })
    assert.strictEqual(yield* reasonOf(call("nest")), "It does not respond in the protocol.")
  })
)

/** Ends the answer of a call after a frame, and answers the requests that resume it in turn; the last answers the rest. */
const resumeCall = (
  frame: string,
  ...resumptions: ReadonlyArray<(response: ServerResponse, id: string | undefined) => void>
): NonNullable<FakeMcpServerOptions["intercept"]> => {
  let callId: string | undefined
  let resumed = 0
  const first = answerCall((response, id) => {
    callId = id
    response.end(frame)
  })
  return (request, response) => {
    if (request.method !== "GET") return first(request, response)
    resumptions[Math.min(resumed++, resumptions.length - 1)]?.(response, callId)
    return true
  }
}
const stream =
  (frames: string) =>
  (response: ServerResponse): void =>
    void response.writeHead(200, { "content-type": "text/event-stream" }).end(frames)
const finish = (response: ServerResponse, id: string | undefined) =>
  stream(toFrame(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"Done."}]}}`))(response)
const primed = (id: string, retry = 10) => `id: ${id}\nretry: ${retry}\ndata: \n\n`

it.scopedLive("SdkMcpClient fails a call at once if its answer ends or breaks off and cannot be resumed", () =>
  Effect.gen(function* () {
    for (const end of [
      (response: ServerResponse) => response.end(),
      (response: ServerResponse) => response.destroy(),
      (response: ServerResponse) => response.end(toFrame('{"jsonrpc":"2.0","id":99,"result":{}}'))
    ]) {
      const { call, requests } = yield* make({
        intercept: answerCall((response) => response.write(": hi\n\n", () => end(response)))
      })
      assert.strictEqual(yield* reasonOf(call("lose")), "Its answer broke off.")
      assert.isFalse(requests.some(({ method }) => method === "GET"))
    }
  })
)

it.scopedLive("SdkMcpClient resumes the answer of a call after its last event, until it has the response", () =>
  Effect.gen(function* () {
    const { call, requests } = yield* make({
      intercept: resumeCall(
        primed("first"),
        stream(": nothing new\n\n"),
        (response) => response.writeHead(503).end(),
        (response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write(`${primed("second")}id: lost\ndata: {"jsonrpc`, () => response.destroy())
        },
        finish
      )
    })
    assert.strictEqual(yield* call("poll"), "Done.")
    const resumptions = requests.filter(({ method }) => method === "GET")
    assert.deepStrictEqual(
      resumptions.map(({ headers }) => headers["last-event-id"]),
      ["first", "first", "first", "second"]
    )
    for (const { headers } of resumptions) {
      assert.deepInclude(headers, { accept: "text/event-stream", authorization: secret })
      assert.isString(headers["mcp-protocol-version"])
      assert.notProperty(headers, "content-type")
    }
  })
)

it.scopedLive("SdkMcpClient resumes an answer within its limits, and gives up a server that refuses it", () =>
  Effect.gen(function* () {
    const brokeOff = "Its answer broke off."
    const status = (code: number) => (response: ServerResponse) =>
      void response.writeHead(code, { location: "/" }).end()
    const refusals: ReadonlyArray<readonly [(response: ServerResponse) => void, string, number]> = [
      [stream(primed("next", 0)), brokeOff, 13],
      [status(404), brokeOff, 1],
      [status(405), brokeOff, 1],
      [status(500), brokeOff, 3],
      [status(307), "It answered with the redirect 307, which is not followed.", 1],
      [stream(`data: ${"x".repeat(maximumMcpBytes)}`), "Its answers have more than 1048576 bytes.", 1]
    ]
    for (const [resume, reason, count] of refusals) {
      const { call, requests } = yield* make({ intercept: resumeCall(primed("first", 0), resume) })
      assert.strictEqual(yield* reasonOf(call("refuse")), reason)
      assert.lengthOf(
        requests.filter(({ method }) => method === "GET"),
        count,
        reason
      )
    }
  })
)

it.scopedLive("SdkMcpClient closes a resumed answer when its call is canceled", () =>
  Effect.gen(function* () {
    const [resumed, closed] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const { call, requests } = yield* make({
      intercept: resumeCall(primed("first"), (response) => {
        response.once("close", () => Deferred.unsafeDone(closed, Effect.void))
        response.writeHead(200, { "content-type": "text/event-stream" }).write(primed("second", 0))
        Deferred.unsafeDone(resumed, Effect.void)
      })
    })
    const calling = yield* Effect.fork(call("wait"))
    yield* Deferred.await(resumed)
    yield* Fiber.interrupt(calling)
    yield* Deferred.await(closed)
    assert.lengthOf(
      requests.filter(({ method }) => method === "GET"),
      1
    )
  })
)
