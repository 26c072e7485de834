import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { setTimeout as networkDelay } from "node:timers/promises"
import { listening } from "../Listening.ts"

/** A call of a tool that a vendor's model makes; without an id the vendor's own server gives one, if it does that. */
export interface StandInCall {
  readonly id?: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
  /** What the vendor wants back with it. */
  readonly signature?: string
}

/** Why an answer ends. */
export type Ending = "stop" | "calls" | "length"

/** What the next chat gets; one that nothing was said about is answered. */
export type Behaviour =
  /** Streams these pieces and the vendor's end of an answer, with what it took. */
  | {
      readonly type: "answer"
      readonly pieces: ReadonlyArray<string>
      /** Behind the pieces. */
      readonly calls?: ReadonlyArray<StandInCall>
      /** By default `calls` where there are some, else `stop`. */
      readonly ending?: Ending
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
      readonly calls?: readonly [StandInCall, StandInCall]
      readonly by: "hanging" | "cutting" | "ending"
    }
  /** Takes the request and says nothing, not even a status. */
  | { readonly type: "hang" }
  | { readonly type: "redirect"; readonly to: string }
  /** Streams as fast as it is taken, for ever. */
  | { readonly type: "endless" }

export interface Received {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  /** Undefined where it is no JSON. */
  readonly body: unknown
}

export interface Reply {
  readonly status: number
  readonly body: unknown
}

/** How a vendor speaks. */
export interface Vendor<Chat> {
  readonly apiKey: string
  /** The version in its addresses: /v1. */
  readonly version: string
  /** What a request asks for, or gets at once: a refusal, or what is no chat. */
  readonly read: (request: Received) => { readonly chat: Chat } | Reply
  /** The last thing that was said. */
  readonly said: (chat: Chat) => string
  /** The events before the first piece, of a piece, and after the last. */
  readonly begin: (chat: Chat, withUsage: boolean) => string
  readonly piece: (chat: Chat, text: string) => string
  readonly end: (chat: Chat, pieces: ReadonlyArray<string>, withUsage: boolean, ending: Ending) => string
  /** The events of calls; of the last one only the first half where it is `cut`, as far as the vendor sends halves. */
  readonly calls: (chat: Chat, calls: ReadonlyArray<StandInCall>, cut: boolean) => string
  /** The answer in one piece to a chat that wants it so; null for one that wants a stream. */
  readonly whole: (chat: Chat, pieces: ReadonlyArray<string>, calls: ReadonlyArray<StandInCall>) => unknown
  /** The body that an error comes in. */
  readonly refusal: (error: unknown) => unknown
}

export interface VendorStandIn {
  /** With the version, as a client wants it. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly received: ReadonlyArray<Received>
  /** For the next chats, in order. */
  readonly next: (...behaviours: ReadonlyArray<Behaviour>) => void
  /** Chats whose client left before they were answered. */
  readonly left: () => number
  /** Connections that were made to it. */
  readonly connections: () => number
  /** Bytes that an endless chat has got rid of. */
  readonly streamed: () => number
}

/** The two halves of a text. */
export const halvesOf = (text: string): readonly [string, string] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** A server that speaks like a vendor over real HTTP, and misbehaves when told to. */
export const vendorStandIn = <Chat>(vendor: Vendor<Chat>): Effect.Effect<VendorStandIn, never, Scope.Scope> =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    const behaviours: Array<Behaviour> = []
    let left = 0
    let streamed = 0
    let connections = 0

    const json = (
      response: ServerResponse,
      { body, status }: Reply,
      headers: Readonly<Record<string, string>> = {}
    ) => {
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
    }

    const startStream = (response: ServerResponse, chat: Chat, pieces: ReadonlyArray<string>, withUsage = true) => {
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).flushHeaders()
      response.write(vendor.begin(chat, withUsage))
      for (const piece of pieces) response.write(vendor.piece(chat, piece))
    }

    const answer = (response: ServerResponse, chat: Chat, given: Extract<Behaviour, { type: "answer" }>) => {
      const { calls = [], pieces, withoutUsage = false } = given
      const ending = given.ending ?? (calls.length > 0 ? "calls" : "stop")
      const whole = vendor.whole(chat, pieces, calls)
      if (whole !== null) {
        json(response, { status: 200, body: whole })
        return
      }
      startStream(response, chat, pieces, !withoutUsage)
      if (calls.length > 0) response.write(vendor.calls(chat, calls, ending === "length"))
      // The end comes after the last event and not with it, as it does over a real network.
      response.write(vendor.end(chat, pieces, !withoutUsage, ending), () => {
        if (given.staysOpen !== true) void networkDelay(20).then(() => response.end())
      })
    }

    const streamForEver = (response: ServerResponse, chat: Chat) => {
      startStream(response, chat, [])
      const piece = vendor.piece(chat, "x".repeat(1_000))
      const go = () => {
        while (!response.destroyed && response.write(piece)) streamed += piece.length
        if (!response.destroyed) response.once("drain", go)
      }
      go()
    }

    const behave = (response: ServerResponse, chat: Chat, behaviour: Behaviour) => {
      switch (behaviour.type) {
        case "answer":
          return answer(response, chat, behaviour)
        case "refuse":
          return json(
            response,
            { status: behaviour.status, body: vendor.refusal(behaviour.error) },
            behaviour.headers ?? {}
          )
        case "raw":
          response.writeHead(behaviour.status ?? 200, { "content-type": behaviour.contentType }).write(behaviour.body)
          if (behaviour.staysOpen !== true) response.end()
          break
        case "break-off": {
          startStream(response, chat, behaviour.pieces)
          if (behaviour.calls !== undefined) response.write(vendor.calls(chat, behaviour.calls, true))
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
      const given: Received = {
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
      const pieces = ["You ", "said: ", vendor.said(read.chat)]
      behave(response, read.chat, behaviours.shift() ?? { type: "answer", pieces })
    }

    const server = createServer((request, response) => {
      const bytes: Array<Buffer> = []
      request.on("data", (piece: Buffer) => bytes.push(piece))
      request.on("end", () => handle(request, response, Buffer.concat(bytes).toString()))
    })
    server.on("connection", () => (connections += 1))
    const { origin } = yield* listening(server)
    return {
      baseUrl: `${origin}${vendor.version}`,
      apiKey: vendor.apiKey,
      received,
      next: (...given) => behaviours.push(...given),
      left: () => left,
      connections: () => connections,
      streamed: () => streamed
    }
  })

const parseOrUndefined = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
