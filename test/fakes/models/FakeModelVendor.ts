import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { setTimeout as networkDelay } from "node:timers/promises"
import { listenLocally } from "../../support/LocalServer.ts"

/** A call of a tool that a vendor's model makes; without an id the vendor's own server gives one, if it does that. */
export interface FakeToolCall {
  readonly id?: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
  /** What the vendor wants back with it. */
  readonly signature?: string
}

/** Why an answer ends. */
export type AnswerEnding = "stop" | "calls" | "length"

/** What the next chat gets; one that nothing was said about is answered. */
export type ModelBehavior =
  /** Streams these pieces and the vendor's end of an answer, with what it took. */
  | {
      readonly type: "answer"
      readonly pieces: ReadonlyArray<string>
      /** Behind the pieces. */
      readonly calls?: ReadonlyArray<FakeToolCall>
      /** By default `calls` where there are some, else `stop`. */
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
  /** These very bytes. */
  | {
      readonly type: "raw"
      readonly status?: number
      readonly contentType: string
      readonly body: string
      readonly staysOpen?: boolean
    }
  /** Begins an answer, then: says no more, breaks the connection, or closes it properly without an end. */
  | {
      readonly type: "break-off"
      readonly pieces: ReadonlyArray<string>
      /** A whole call behind the pieces, and half of another. */
      readonly calls?: readonly [FakeToolCall, FakeToolCall]
      readonly by: "hanging" | "cutting" | "ending"
    }
  /** Takes the request and says nothing, not even a status. */
  | { readonly type: "hang" }
  | { readonly type: "redirect"; readonly to: string }
  /** Streams as fast as it is taken, for ever. */
  | { readonly type: "endless" }

export interface ReceivedModelRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  /** Undefined where it is no JSON. */
  readonly body: unknown
}

export interface VendorReply {
  readonly status: number
  readonly body: unknown
}

/** How a vendor speaks. */
export interface ModelVendor<Chat> {
  readonly apiKey: string
  /** The version in its addresses: /v1. */
  readonly version: string
  /** What a request asks for, or gets at once: a refusal, or what is no chat. */
  readonly read: (request: ReceivedModelRequest) => { readonly chat: Chat } | VendorReply
  /** The last thing that was said. */
  readonly lastMessage: (chat: Chat) => string
  /** The events before the first piece, of a piece, and after the last. */
  readonly encodeStart: (chat: Chat, withUsage: boolean) => string
  readonly encodeDelta: (chat: Chat, text: string) => string
  readonly encodeEnd: (chat: Chat, pieces: ReadonlyArray<string>, withUsage: boolean, ending: AnswerEnding) => string
  /** The events of calls; of the last one only the first half where it is `cut`, as far as the vendor sends halves. */
  readonly encodeToolCalls: (chat: Chat, calls: ReadonlyArray<FakeToolCall>, cut: boolean) => string
  /** The answer in one piece to a chat that wants it so; null for one that wants a stream. */
  readonly encodeWhole: (chat: Chat, pieces: ReadonlyArray<string>, calls: ReadonlyArray<FakeToolCall>) => unknown
  /** The body that an error comes in. */
  readonly encodeError: (error: unknown) => unknown
}

export interface FakeModelVendor {
  /** With the version, as a client wants it. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly received: ReadonlyArray<ReceivedModelRequest>
  /** For the next chats, in order. */
  readonly respondWith: (...behaviours: ReadonlyArray<ModelBehavior>) => void
  /** Chats whose client left before they were answered. */
  readonly abandonedRequests: () => number
  /** Connections that were made to it. */
  readonly connectionCount: () => number
  /** Bytes that an endless chat has got rid of. */
  readonly streamedBytes: () => number
}

/** The two halves of a text. */
export const splitInHalf = (text: string): readonly [string, string] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** A server that speaks like a vendor over real HTTP, and misbehaves when told to. */
export const makeFakeModelVendor = <Chat>(
  vendor: ModelVendor<Chat>
): Effect.Effect<FakeModelVendor, never, Scope.Scope> =>
  Effect.gen(function* () {
    const received: Array<ReceivedModelRequest> = []
    const behaviours: Array<ModelBehavior> = []
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

    const answer = (response: ServerResponse, chat: Chat, given: Extract<ModelBehavior, { type: "answer" }>) => {
      const { calls = [], pieces, withoutUsage = false } = given
      const ending = given.ending ?? (calls.length > 0 ? "calls" : "stop")
      const whole = vendor.encodeWhole(chat, pieces, calls)
      if (whole !== null) {
        json(response, { status: 200, body: whole })
        return
      }
      startStream(response, chat, pieces, !withoutUsage)
      if (calls.length > 0) response.write(vendor.encodeToolCalls(chat, calls, ending === "length"))
      // The end comes after the last event and not with it, as it does over a real network.
      response.write(vendor.encodeEnd(chat, pieces, !withoutUsage, ending), () => {
        if (given.staysOpen !== true) void networkDelay(20).then(() => response.end())
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

    const behave = (response: ServerResponse, chat: Chat, behaviour: ModelBehavior) => {
      switch (behaviour.type) {
        case "answer":
          return answer(response, chat, behaviour)
        case "refuse":
          return json(
            response,
            { status: behaviour.status, body: vendor.encodeError(behaviour.error) },
            behaviour.headers ?? {}
          )
        case "raw":
          response.writeHead(behaviour.status ?? 200, { "content-type": behaviour.contentType }).write(behaviour.body)
          if (behaviour.staysOpen !== true) response.end()
          break
        case "break-off": {
          startStream(response, chat, behaviour.pieces)
          if (behaviour.calls !== undefined) response.write(vendor.encodeToolCalls(chat, behaviour.calls, true))
          if (behaviour.by === "ending") response.end()
          // The pieces have to be on their way before the connection goes.
          if (behaviour.by === "cutting") response.write(": last\n\n", () => response.destroy())
          break
        }
        case "hang":
          return
        case "redirect":
          return response.writeHead(307, { location: behaviour.to }).end()
        case "endless":
          return streamForEver(response, chat)
      }
    }

    const handle = (request: IncomingMessage, response: ServerResponse, text: string) => {
      const given: ReceivedModelRequest = {
        method: request.method ?? "GET",
        path: request.url ?? "/",
        headers: request.headers,
        body: text === "" ? undefined : parseOrUndefined(text)
      }
      received.push(given)
      const read = vendor.read(given)
      if (!("chat" in read)) {
        json(response, read)
        return
      }
      response.once("close", () => {
        if (!response.writableFinished) left += 1
      })
      const pieces = ["You ", "said: ", vendor.lastMessage(read.chat)]
      behave(response, read.chat, behaviours.shift() ?? { type: "answer", pieces })
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
      respondWith: (...given) => behaviours.push(...given),
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
