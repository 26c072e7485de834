import { sessionCookie } from "@berth/api/sessions/SessionAuth"
import type { BodyMalformed, BodyTooLarge, MediaTypeUnsupported, RequestTimeout } from "@berth/api/http/TransportErrors"
import { Cookies, Headers, HttpIncomingMessage, type HttpMethod, HttpServerRequest } from "@effect/platform"
import { Effect, Either, Inspectable, Option, Stream } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"

type Message = HttpServerRequest.HttpServerRequest

export type BodyFailure = BodyTooLarge | BodyMalformed | MediaTypeUnsupported | RequestTimeout

export interface ParsedBody {
  readonly bytes: Buffer
  /** Parsed JSON; undefined for a form. */
  readonly value: unknown
}

/** Methods that read a body. */
export interface RequestContent extends Pick<Message, "json" | "text" | "arrayBuffer" | "urlParamsBody"> {
  /** The body or its rejection; the other methods die with the rejection. */
  readonly parsed: Effect.Effect<Either.Either<ParsedBody, BodyFailure>>
}

const unread: RequestContent = {
  parsed: Effect.succeed(Either.right({ bytes: Buffer.alloc(0), value: null })),
  json: Effect.succeed(null),
  text: Effect.succeed(""),
  arrayBuffer: Effect.sync(() => new ArrayBuffer(0)),
  urlParamsBody: Effect.succeed([])
}

/** Node's parser rejects methods unknown to it; the route table rejects the rest. */
const isMethod = (method: string | undefined): method is HttpMethod.HttpMethod => method !== undefined

/** A request of a listener. The pipeline sets the content after it finds the route. */
export class ListenerRequest extends Inspectable.Class implements Message {
  readonly [HttpServerRequest.TypeId]: HttpServerRequest.TypeId = HttpServerRequest.TypeId
  readonly [HttpIncomingMessage.TypeId]: HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly method: HttpMethod.HttpMethod
  readonly url: string
  headers: Headers.Headers
  content: RequestContent = unread
  #cookies: Message["cookies"] | undefined

  constructor(
    readonly source: IncomingMessage,
    readonly response: ServerResponse
  ) {
    super()
    this.method = isMethod(source.method) ? source.method : "GET"
    this.url = source.url ?? "/"
    this.headers = Headers.fromInput(source.headers)
  }

  get originalUrl() {
    return this.url
  }

  get remoteAddress() {
    return Option.fromNullable(this.source.socket.remoteAddress)
  }

  /** With the session cookie, empty if absent: a missing cookie costs the contract's middleware a stack trace. */
  get cookies() {
    this.#cookies ??= { [sessionCookie.key]: "", ...Cookies.parseHeader(this.headers["cookie"] ?? "") }
    return this.#cookies
  }

  get json() {
    return this.content.json
  }

  get text() {
    return this.content.text
  }

  get arrayBuffer() {
    return this.content.arrayBuffer
  }

  get urlParamsBody() {
    return this.content.urlParamsBody
  }

  get stream() {
    return Stream.map(Stream.fromEffect(this.arrayBuffer), (bytes) => new Uint8Array(bytes))
  }

  get multipart() {
    return Effect.dieMessage("Forms with files are parsed by their routes")
  }

  get multipartStream() {
    return Stream.dieMessage("Forms with files are parsed by their routes")
  }

  get upgrade() {
    return Effect.dieMessage("Handshakes are accepted by their route")
  }

  modify(): Message {
    return this
  }

  toJSON() {
    return { _id: "@berth/ListenerRequest", method: this.method, url: this.url }
  }
}
