import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { setTimeout as networkDelay } from "node:timers/promises"
import { listenLocally } from "../../support/LocalServer.ts"

/** A tool call of the model. The fake assigns a missing id if the vendor does. */
export interface FakeToolCall {
  readonly id?: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
  /** Signature that the vendor requires back. */
  readonly signature?: string
}

/** Finish reason. */
export type AnswerEnding = "stop" | "calls" | "length"

/** Behavior of the next chat. Default: an answer. */
export type ModelBehavior =
  /** Streams these deltas and the end event with usage. */
  | {
      readonly type: "answer"
      readonly pieces: ReadonlyArray<string>
      /** After the deltas. */
      readonly calls?: ReadonlyArray<FakeToolCall>
      /** Default: `calls` if there are any, else `stop`. */
      readonly ending?: AnswerEnding
      readonly withoutUsage?: boolean
      /** Does not end the response after the last event. */
      readonly staysOpen?: boolean
    }
  /** An error object with its status. */
  | {
      readonly type: "refuse"
      readonly status: number
      readonly error: unknown
      readonly headers?: Readonly<Record<string, string>>
    }
  /** A literal body. */
  | {
      readonly type: "raw"
      readonly status?: number
      readonly contentType: string
      readonly body: string
      readonly staysOpen?: boolean
    }
  /** Starts an answer, then hangs, cuts the connection, or closes it without an end event. */
  | {
      readonly type: "break-off"
      readonly pieces: ReadonlyArray<string>
      /** One complete call after the deltas and half of another. */
      readonly calls?: readonly [FakeToolCall, FakeToolCall]
      readonly by: "hanging" | "cutting" | "ending"
    }
  /** Sends no response. */
  | { readonly type: "hang" }
  | { readonly type: "redirect"; readonly to: string }
  /** Streams endlessly, as fast as the client reads. */
  | { readonly type: "endless" }

export interface ReceivedModelRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  /** Undefined unless JSON. */
  readonly body: unknown
}

export interface VendorReply {
  readonly status: number
  readonly body: unknown
}

export interface ModelVendor<Chat> {
  readonly apiKey: string
  /** Version prefix of its paths: /v1. */
  readonly version: string
  /** Decodes a chat, or returns an immediate response: a rejection, or a request that is no chat. */
  readonly read: (request: ReceivedModelRequest) => { readonly chat: Chat } | VendorReply
  readonly lastMessage: (chat: Chat) => string
  /** Events before the first delta, of a delta, and after the last. */
  readonly encodeStart: (chat: Chat, withUsage: boolean) => string
  readonly encodeDelta: (chat: Chat, text: string) => string
  readonly encodeEnd: (chat: Chat, pieces: ReadonlyArray<string>, withUsage: boolean, ending: AnswerEnding) => string
  /** Events of tool calls; with `cut`, only the first half of the last one where the vendor sends parts. */
  readonly encodeToolCalls: (chat: Chat, calls: ReadonlyArray<FakeToolCall>, cut: boolean) => string
  /** Complete response; null for a streamed chat. */
  readonly encodeWhole: (chat: Chat, pieces: ReadonlyArray<string>, calls: ReadonlyArray<FakeToolCall>) => unknown
  /** Body of an error. */
  readonly encodeError: (error: unknown) => unknown
}

export interface FakeModelVendor {
  /** Includes the version. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly received: ReadonlyArray<ReceivedModelRequest>
  /** Queues behaviors for the next chats. */
  readonly respondWith: (...behaviors: ReadonlyArray<ModelBehavior>) => void
  /** Chats whose client disconnected before the end. */
  readonly abandonedRequests: () => number
  /** Accepted connections. */
  readonly connectionCount: () => number
  /** Bytes sent by an endless chat. */
  readonly streamedBytes: () => number
}

export const splitInHalf = (text: string): readonly [string, string] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** Starts a fake vendor over HTTP with configurable failures. */
export const makeFakeModelVendor = <Chat>(
  vendor: ModelVendor<Chat>
): Effect.Effect<FakeModelVendor, never, Scope.Scope> =>
  Effect.gen(function* () {
    const received: Array<ReceivedModelRequest> = []
    const behaviors: Array<ModelBehavior> = []
    let left = 0
    let streamed = 0
    let connections = 0

    const json = (
      response: ServerResponse,
      { body, status }: VendorReply,
      headers: Readonly<Record<string, string>> = {}
    ) => {
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
    }

    const startStream = (response: ServerResponse, chat: Chat, pieces: ReadonlyArray<string>, withUsage = true) => {
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).flushHeaders()
      response.write(vendor.encodeStart(chat, withUsage))
      for (const piece of pieces) response.write(vendor.encodeDelta(chat, piece))
    }

    const answer = (response: ServerResponse, chat: Chat, behavior: Extract<ModelBehavior, { type: "answer" }>) => {
      const { calls = [], pieces, withoutUsage = false } = behavior
      const ending = behavior.ending ?? (calls.length > 0 ? "calls" : "stop")
      const whole = vendor.encodeWhole(chat, pieces, calls)
      if (whole !== null) {
        json(response, { status: 200, body: whole })
        return
      }
      startStream(response, chat, pieces, !withoutUsage)
      if (calls.length > 0) response.write(vendor.encodeToolCalls(chat, calls, ending === "length"))
      // The response ends after the last event, not together with it, as over a network.
      response.write(vendor.encodeEnd(chat, pieces, !withoutUsage, ending), () => {
        if (behavior.staysOpen !== true) void networkDelay(20).then(() => response.end())
      })
    }

    const streamForEver = (response: ServerResponse, chat: Chat) => {
      startStream(response, chat, [])
      const piece = vendor.encodeDelta(chat, "x".repeat(1_000))
      const go = () => {
        while (!response.destroyed && response.write(piece)) streamed += piece.length
        if (!response.destroyed) response.once("drain", go)
      }
      go()
    }

    const behave = (response: ServerResponse, chat: Chat, behavior: ModelBehavior) => {
      switch (behavior.type) {
        case "answer":
          return answer(response, chat, behavior)
        case "refuse":
          return json(
            response,
            { status: behavior.status, body: vendor.encodeError(behavior.error) },
            behavior.headers ?? {}
          )
        case "raw":
          response.writeHead(behavior.status ?? 200, { "content-type": behavior.contentType }).write(behavior.body)
          if (behavior.staysOpen !== true) response.end()
          break
        case "break-off": {
          startStream(response, chat, behavior.pieces)
          if (behavior.calls !== undefined) response.write(vendor.encodeToolCalls(chat, behavior.calls, true))
          if (behavior.by === "ending") response.end()
          // The deltas must be sent before the disconnect.
          if (behavior.by === "cutting") response.write(": last\n\n", () => response.destroy())
          break
        }
        case "hang":
          return
        case "redirect":
          return response.writeHead(307, { location: behavior.to }).end()
        case "endless":
          return streamForEver(response, chat)
      }
    }

    const handle = (request: IncomingMessage, response: ServerResponse, text: string) => {
      const modelRequest: ReceivedModelRequest = {
        method: request.method ?? "GET",
        path: request.url ?? "/",
        headers: request.headers,
        body: text === "" ? undefined : parseOrUndefined(text)
      }
      received.push(modelRequest)
      const read = vendor.read(modelRequest)
      if (!("chat" in read)) {
        json(response, read)
        return
      }
      response.once("close", () => {
        if (!response.writableFinished) left += 1
      })
      const pieces = ["You ", "said: ", vendor.lastMessage(read.chat)]
      behave(response, read.chat, behaviors.shift() ?? { type: "answer", pieces })
    }

    const server = createServer((request, response) => {
      const bytes: Array<Buffer> = []
      request.on("data", (piece: Buffer) => bytes.push(piece))
      request.on("end", () => handle(request, response, Buffer.concat(bytes).toString()))
    })
    server.on("connection", () => (connections += 1))
    const { origin } = yield* listenLocally(server)
    return {
      baseUrl: `${origin}${vendor.version}`,
      apiKey: vendor.apiKey,
      received,
      respondWith: (...added) => behaviors.push(...added),
      abandonedRequests: () => left,
      connectionCount: () => connections,
      streamedBytes: () => streamed
    }
  })

const parseOrUndefined = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
