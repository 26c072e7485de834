import { makeSseParser } from "@berth/api/http/Sse"
import { WebApi } from "@berth/api/WebApi"
import { Cookies, FetchHttpClient, HttpApiClient, HttpClient, HttpClientRequest } from "@effect/platform"
import { Data, Effect, flow, Option, type Redacted, Ref, Schema, Stream } from "effect"

export interface ClientOptions {
  /** Public URL of the service. */
  readonly baseUrl: string
  /** Absent: the client keeps the session cookie after a sign-in. */
  readonly apiKey?: Redacted.Redacted | undefined
}

const authorize = (apiKey: Redacted.Redacted | undefined) => (http: HttpClient.HttpClient) =>
  apiKey === undefined ? http : HttpClient.mapRequest(http, HttpClientRequest.bearerToken(apiKey))

/**
 * Client with all operations of the API by group and name: typed requests and responses, and failures as the service's
 * error classes.
 */
export const makeClient = ({ apiKey, baseUrl }: ClientOptions) =>
  Effect.flatMap(Ref.make(Cookies.empty), (cookies) =>
    HttpApiClient.make(WebApi, {
      baseUrl,
      transformClient: flow(HttpClient.withCookiesRef(cookies), authorize(apiKey))
    })
  ).pipe(Effect.provide(FetchHttpClient.layer))

export type Client = Effect.Effect.Success<ReturnType<typeof makeClient>>

/** The service rejected a message, or its answer failed. */
export class AnswerFailed extends Data.TaggedError("AnswerFailed")<{
  readonly code: string
  readonly message: string
}> {}

export interface MessageToAgent {
  readonly agentId: string
  readonly message: string
  /** Default: the last conversation with the agent. */
  readonly sessionId?: string | undefined
}

/** A delta of the reply, or its end with the conversation to continue. */
export type ReplyEvent =
  | { readonly type: "delta"; readonly text: string }
  | { readonly type: "done"; readonly reply: string; readonly sessionId: string }

const Delta = Schema.parseJson(Schema.Struct({ text: Schema.String }))
const Done = Schema.parseJson(Schema.Struct({ reply: Schema.String, sessionId: Schema.String }))
const Failure = Schema.parseJson(Schema.Struct({ code: Schema.String, message: Schema.String }))

const decodeFailure = Schema.decodeOption(Failure)
const toFailure = (text: string) =>
  new AnswerFailed(
    Option.getOrElse(decodeFailure(text), () => ({ code: "unreadable", message: "The answer cannot be read." }))
  )
const unreachable = () => new AnswerFailed({ code: "unreachable", message: "The service cannot be reached." })
const isBrokenOff = new AnswerFailed({ code: "broken_off", message: "The answer broke off." })

/** Events of other names, for example of tools, are not part of the reply. */
const replyEvents = new Set(["delta", "done", "error"])

const toReplyEvent = (event: string, data: string): Effect.Effect<ReplyEvent, AnswerFailed> => {
  const unreadable = () => toFailure(data)
  if (event === "delta")
    return Effect.mapBoth(Schema.decode(Delta)(data), {
      onSuccess: ({ text }) => ({ type: "delta", text }),
      onFailure: unreadable
    })
  if (event === "done")
    return Effect.mapBoth(Schema.decode(Done)(data), {
      onSuccess: (done) => ({ type: "done", ...done }),
      onFailure: unreadable
    })
  return toFailure(data)
}

/** Sends a message to an agent and streams its reply; the last event is `done`. */
export const streamReply = (
  { apiKey, baseUrl }: ClientOptions,
  message: MessageToAgent
): Stream.Stream<ReplyEvent, AnswerFailed> => {
  const open = Effect.gen(function* () {
    const http = authorize(apiKey)(yield* HttpClient.HttpClient)
    const request = HttpClientRequest.post(new URL("/api/agent", baseUrl)).pipe(
      HttpClientRequest.accept("text/event-stream"),
      HttpClientRequest.bodyUnsafeJson(message)
    )
    const response = yield* Effect.mapError(http.execute(request), unreachable)
    if (response.status !== 200) return yield* Effect.flatMap(Effect.mapError(response.text, unreachable), toFailure)
    const parser = makeSseParser()
    const events = response.stream.pipe(
      Stream.decodeText(),
      Stream.mapConcat(parser.push),
      Stream.filter(({ event }) => replyEvents.has(event)),
      Stream.mapError(unreachable),
      Stream.mapEffect(({ data, event }) => toReplyEvent(event, data))
    )
    return Stream.takeUntil(Stream.concat(events, isBrokenOff), ({ type }) => type === "done")
  })
  return Stream.unwrap(open).pipe(Stream.provideLayer(FetchHttpClient.layer))
}
