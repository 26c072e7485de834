import {
  ChannelFileTooLarge,
  ChannelReaderConflict,
  ChannelTokenRefused,
  PlatformRequestRefused,
  PlatformThrottled,
  PlatformUnreachable
} from "@berth/domain/channels/ChannelErrors"
import { type HttpClient, HttpClientRequest } from "@effect/platform"
import type { ApiMethods } from "@grammyjs/types"
import { Duration, Effect, Redacted, Schema } from "effect"
import {
  makePlatformHttp,
  parseAnswer,
  PlatformAnswerMalformed,
  type PlatformCallLimits,
  type PlatformConnectionFailed
} from "../PlatformHttp.ts"
import { isOversized, toPlatformUnreachable } from "../PlatformVerdict.ts"

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

type Refusal = Extract<typeof Reply.Type, { readonly ok: false }>
type TelegramMethod = Extract<keyof ApiMethods<never>, string>
type TelegramParameters<Method extends TelegramMethod> = Parameters<ApiMethods<never>[Method]>[0]
export type TelegramFailure =
  ChannelTokenRefused | PlatformUnreachable | PlatformThrottled | PlatformRequestRefused | ChannelReaderConflict

const maximumReasonLength = 200

const toFailure = ({ description, error_code, parameters }: Refusal): TelegramFailure => {
  const reason = description.slice(0, maximumReasonLength)
  // A malformed token causes "Not Found".
  if (error_code === 401 || error_code === 404)
    return new ChannelTokenRefused({ reason: "Telegram refuses the token." })
  if (error_code === 409) return new ChannelReaderConflict({ reason })
  if (error_code === 429)
    return new PlatformThrottled({ retryAfter: Duration.seconds(Math.max(1, parameters?.retry_after ?? 1)) })
  return error_code >= 500
    ? new PlatformUnreachable({ reason: `Telegram fails (${error_code}).`, mayHaveArrived: true })
    : new PlatformRequestRefused({ reason: reason === "" ? `Telegram refuses the request (${error_code}).` : reason })
}

interface TelegramClient {
  /** Calls a method of the Bot API and returns its result. */
  readonly call: <Method extends TelegramMethod, A, I>(
    token: Redacted.Redacted,
    method: Method,
    parameters: TelegramParameters<Method>,
    result: Schema.Schema<A, I>,
    limits?: PlatformCallLimits
  ) => Effect.Effect<A, TelegramFailure>
  /** Downloads a file by a path from `getFile`. */
  readonly download: (
    token: Redacted.Redacted,
    path: string,
    limitBytes: number
  ) => Effect.Effect<Uint8Array, TelegramFailure | ChannelFileTooLarge>
}

const unreachable = (failure: PlatformConnectionFailed | PlatformAnswerMalformed) =>
  toPlatformUnreachable("Telegram", failure)

/** The Bot API over HTTP. */
export const makeTelegramClient = (apiUrl: URL): Effect.Effect<TelegramClient, never, HttpClient.HttpClient> =>
  Effect.map(makePlatformHttp, (exchange) => {
    const root = apiUrl.href.replace(/\/$/, "")
    const encode = (token: Redacted.Redacted) => encodeURIComponent(Redacted.value(token)).replaceAll("%3A", ":")

    return {
      call: (token, method, parameters, result, limits) =>
        Effect.gen(function* () {
          const request = HttpClientRequest.post(`${root}/bot${encode(token)}/${method}`).pipe(
            HttpClientRequest.bodyUnsafeJson(parameters ?? {})
          )
          const answer = yield* Effect.mapError(exchange(request, limits), unreachable)
          const malformed = () => unreachable(new PlatformAnswerMalformed({ operation: method }))
          const reply = yield* Effect.mapError(parseAnswer(Reply, answer), malformed)
          if (!reply.ok) return yield* toFailure(reply)
          return yield* Effect.mapError(Schema.decodeUnknown(result)(reply.result), malformed)
        }),
      download: (token, path, maximumBytes) =>
        exchange(HttpClientRequest.get(`${root}/file/bot${encode(token)}/${path}`), {
          timeout: "60 seconds",
          maximumBytes
        }).pipe(
          Effect.mapError((failure) =>
            isOversized(failure) ? new ChannelFileTooLarge({ limitBytes: maximumBytes }) : unreachable(failure)
          ),
          Effect.flatMap(({ bytes, status }): Effect.Effect<Uint8Array, TelegramFailure> => {
            if (status === 200) return Effect.succeed(bytes)
            return status >= 500
              ? unreachable(new PlatformAnswerMalformed({ operation: "file" }))
              : new PlatformRequestRefused({ reason: "Telegram has no such file." })
          })
        )
    }
  })
