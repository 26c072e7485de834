import {
  ChannelFileTooLarge,
  ChannelReaderConflict,
  ChannelTokenRefused,
  PlatformRequestRefused,
  PlatformThrottled,
  PlatformUnreachable
} from "@berth/domain/channels/ChannelErrors"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type { ApiMethods } from "@grammyjs/types"
import { Chunk, Duration, Effect, Option, Predicate, Redacted, Schema, Stream } from "effect"

/** https://core.telegram.org/bots/api#making-requests */
const Reply = Schema.Union(
  Schema.Struct({ ok: Schema.Literal(true), result: Schema.Unknown }),
  Schema.Struct({
    ok: Schema.Literal(false),
    error_code: Schema.Int,
    description: Schema.optionalWith(Schema.String, { default: () => "" }),
    parameters: Schema.optional(Schema.Struct({ retry_after: Schema.optional(Schema.Number) }))
  })
)
const decodeReply = Schema.decodeUnknown(Schema.parseJson(Reply))

type Refusal = Extract<typeof Reply.Type, { readonly ok: false }>
export type TelegramMethod = Extract<keyof ApiMethods<never>, string>
export type TelegramParameters<Method extends TelegramMethod> = Parameters<ApiMethods<never>[Method]>[0]
export type TelegramFailure =
  ChannelTokenRefused | PlatformUnreachable | PlatformThrottled | PlatformRequestRefused | ChannelReaderConflict

const maximumReplyBytes = 8 * 1024 * 1024
const defaultTimeout = Duration.seconds(15)
const maximumReasonLength = 200

const toFailure = ({ description, error_code, parameters }: Refusal): TelegramFailure => {
  const reason = description.slice(0, maximumReasonLength)
  // A malformed token is "Not Found".
  if (error_code === 401 || error_code === 404)
    return new ChannelTokenRefused({ reason: "Telegram refuses the token." })
  if (error_code === 409) return new ChannelReaderConflict({ reason })
  if (error_code === 429)
    return new PlatformThrottled({ retryAfter: Duration.seconds(Math.max(1, parameters?.retry_after ?? 1)) })
  return error_code >= 500
    ? new PlatformUnreachable({ reason: `Telegram fails (${error_code}).`, mayHaveArrived: true })
    : new PlatformRequestRefused({ reason: reason === "" ? `Telegram refuses the request (${error_code}).` : reason })
}

/** Causes that show that no request was sent. */
const connectionCodes = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])

const isNotConnected = (error: unknown): boolean => {
  if (!Predicate.isRecord(error)) return false
  const { cause, code } = error
  return (Predicate.isString(code) && connectionCodes.has(code)) || isNotConnected(cause)
}

// The error names the URL, which contains the token.
const toUnreachable = (error: HttpClientError.HttpClientError) =>
  new PlatformUnreachable({ reason: "Telegram cannot be reached.", mayHaveArrived: !isNotConnected(error.cause) })

const timedOut = new PlatformUnreachable({ reason: "Telegram did not answer in time.", mayHaveArrived: true })
const malformed = new PlatformUnreachable({ reason: "Telegram sent an unexpected answer.", mayHaveArrived: true })

/** Reads a body of at most `limit` bytes; none when it is longer. */
const readBody = (response: HttpClientResponse.HttpClientResponse, limit: number) =>
  response.stream.pipe(
    Stream.mapAccum(0, (total, bytes) => [total + bytes.length, { total: total + bytes.length, bytes }]),
    Stream.takeUntil(({ total }) => total > limit),
    Stream.runCollect,
    Effect.map((pieces) =>
      Option.exists(Chunk.last(pieces), ({ total }) => total > limit)
        ? Option.none<Uint8Array>()
        : Option.some(new Uint8Array(Buffer.concat(Chunk.toReadonlyArray(pieces).map(({ bytes }) => bytes))))
    )
  )

export interface TelegramClient {
  /** Calls a method of the Bot API and returns its result. */
  readonly call: <Method extends TelegramMethod, A, I>(
    token: Redacted.Redacted,
    method: Method,
    parameters: TelegramParameters<Method>,
    result: Schema.Schema<A, I>,
    options?: { readonly timeout?: Duration.Duration }
  ) => Effect.Effect<A, TelegramFailure>
  /** Downloads a file by the path that `getFile` returns. */
  readonly download: (
    token: Redacted.Redacted,
    path: string,
    limitBytes: number
  ) => Effect.Effect<Uint8Array, TelegramFailure | ChannelFileTooLarge>
}

/** The Bot API over HTTP. Requests are neither traced nor logged, since their URLs contain the token. */
export const makeTelegramClient = (apiUrl: URL): Effect.Effect<TelegramClient, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (http) => {
    const client = HttpClient.withTracerDisabledWhen(http, () => true).pipe(
      HttpClient.withTracerPropagation(false),
      HttpClient.transformResponse(Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }))
    )
    const root = apiUrl.href.replace(/\/$/, "")
    const encode = (token: Redacted.Redacted) => encodeURIComponent(Redacted.value(token)).replaceAll("%3A", ":")

    const execute = (request: HttpClientRequest.HttpClientRequest, limit: number, timeout: Duration.Duration) =>
      client.execute(request).pipe(
        Effect.flatMap((response) =>
          Effect.map(readBody(response, limit), (body) => ({ body, status: response.status }))
        ),
        Effect.scoped,
        Effect.mapError(toUnreachable),
        Effect.disconnect,
        Effect.timeoutFail({ duration: timeout, onTimeout: () => timedOut })
      )

    const decodeResult = <A, I>(schema: Schema.Schema<A, I>, body: Option.Option<Uint8Array>) =>
      Effect.gen(function* () {
        const bytes = yield* Effect.mapError(body, () => malformed)
        const reply = yield* Effect.mapError(decodeReply(new TextDecoder().decode(bytes)), () => malformed)
        if (!reply.ok) return yield* Effect.fail(toFailure(reply))
        return yield* Effect.mapError(Schema.decodeUnknown(schema)(reply.result), () => malformed)
      })

    return {
      call: (token, method, parameters, result, { timeout = defaultTimeout } = {}) =>
        execute(
          HttpClientRequest.post(`${root}/bot${encode(token)}/${method}`).pipe(
            HttpClientRequest.bodyUnsafeJson(parameters ?? {})
          ),
          maximumReplyBytes,
          timeout
        ).pipe(Effect.flatMap(({ body }) => decodeResult(result, body))),
      download: (token, path, limitBytes) =>
        execute(
          HttpClientRequest.get(`${root}/file/bot${encode(token)}/${path}`),
          limitBytes,
          Duration.seconds(60)
        ).pipe(
          Effect.flatMap(({ body, status }): Effect.Effect<Uint8Array, TelegramFailure | ChannelFileTooLarge> => {
            if (status !== 200)
              return status >= 500 ? malformed : new PlatformRequestRefused({ reason: "Telegram has no such file." })
            return Effect.mapError(body, () => new ChannelFileTooLarge({ limitBytes }))
          })
        )
    }
  })
