import { HttpClientRequest } from "@effect/platform"
import { Clock, Duration, Effect, Option, Redacted, Ref, Schema } from "effect"
import {
  isSecureAddress,
  makePlatformHttp,
  parseAnswer,
  type PlatformAnswer,
  PlatformAnswerMalformed
} from "../PlatformHttp.ts"
import { type DiscordFailure, DiscordRequestRejected } from "./DiscordErrors.ts"
import {
  CreatedMessage,
  DiscordApplication,
  DiscordCommand,
  DiscordErrorBody,
  DiscordUser,
  GatewayInformation
} from "./DiscordObjects.ts"
import { applyAnswer, delayBefore, type RateLimits, readRetrySeconds } from "./DiscordRateLimits.ts"

interface DiscordText {
  readonly channelId: string
  /** Maximum 2,000 characters. */
  readonly text: string
  readonly replyTo: Option.Option<string>
  /** Maximum 25 characters. For some minutes, Discord answers a repetition with the first message. */
  readonly nonce: string
}

/** Answer to a slash command. */
interface InteractionAnswer {
  readonly applicationId: string
  readonly token: Redacted.Redacted
  readonly text: string
}

/** Discord rejects clients without a user agent in this format. */
const userAgent = "DiscordBot (https://github.com/berth, 1.0)"
/** Longer delays become an error with `retryAfter`. */
const longestDelayMs = 2_000
const attachmentHosts = new Set(["cdn.discordapp.com", "media.discordapp.net"])

/** Text can mention only the author of the message that it replies to. */
const allowedMentions = { parse: [], replied_user: true }

const askCommand = {
  name: "ask",
  type: 1,
  description: "Ask the agent a question",
  options: [{ type: 3, name: "question", description: "Your question", required: true, max_length: 4_000 }]
}

const isAskCommand = ({ description, name, options }: DiscordCommand) =>
  name === askCommand.name &&
  description === askCommand.description &&
  options.length === 1 &&
  options.every((option) => option.type === 3 && option.name === "question" && option.required === true)

/** Whether an attachment may be read from this address. */
export const isAttachmentAddress = (address: URL, apiUrl: URL): boolean =>
  address.origin === apiUrl.origin || (address.protocol === "https:" && attachmentHosts.has(address.hostname))

interface Call {
  readonly method: "GET" | "POST" | "PATCH"
  readonly path: string
  /** Route of the rate limit: the path without ids, except those of the top-level resource. */
  readonly route: string
  readonly body?: unknown
}

const segment = encodeURIComponent

/** Client of the required parts of the Discord API, one function per endpoint. Waits for short rate limits. */
export const makeDiscordClient = Effect.fnUntraced(function* (apiUrl: URL) {
  const exchange = yield* makePlatformHttp
  const base = apiUrl.href.replace(/\/$/, "")
  const limits = yield* Ref.make<RateLimits>(new Map())

  /** `token` is null for calls authenticated by their path. */
  const send = Effect.fnUntraced(
    function* (token: Redacted.Redacted | null, { body, method, path, route }: Call) {
      const limited = { bot: token === null ? "" : Redacted.value(token), route: `${method} ${route}` }
      const delay = delayBefore(yield* limits, limited, yield* Clock.currentTimeMillis)
      if (delay > longestDelayMs)
        return yield* new DiscordRequestRejected({
          status: 429,
          code: 0,
          retryAfter: Option.some(Duration.millis(delay))
        })
      yield* Effect.sleep(delay)
      const request = HttpClientRequest.make(method)(`${base}/${path}`, {
        acceptJson: true,
        headers: {
          "user-agent": userAgent,
          ...(token === null ? {} : { authorization: `Bot ${Redacted.value(token)}` })
        }
      })
      const answer = yield* exchange(body === undefined ? request : HttpClientRequest.bodyUnsafeJson(request, body))
      const now = yield* Clock.currentTimeMillis
      const failure = Option.getOrUndefined(parseAnswer(DiscordErrorBody, answer))
      const retrySeconds =
        answer.status === 429 ? Option.some(readRetrySeconds(answer.headers, failure?.retry_after)) : Option.none()
      yield* Ref.update(limits, (known) => applyAnswer(known, { limited, now, headers: answer.headers, retrySeconds }))
      if (answer.status >= 200 && answer.status < 300) return answer
      return yield* new DiscordRequestRejected({
        status: answer.status,
        code: failure?.code ?? 0,
        retryAfter: Option.map(retrySeconds, Duration.seconds)
      })
    },
    // Retries once after a short limit that was unknown before.
    Effect.retry({
      times: 1,
      while: (error) =>
        error._tag === "DiscordRequestRejected" &&
        Option.exists(error.retryAfter, (delay) => Duration.toMillis(delay) <= longestDelayMs)
    })
  )

  const call = <A, I>(
    token: Redacted.Redacted | null,
    schema: Schema.Schema<A, I>,
    request: Call
  ): Effect.Effect<A, DiscordFailure> =>
    Effect.flatMap(send(token, request), (answer: PlatformAnswer) =>
      Effect.mapError(
        parseAnswer(schema, answer),
        () => new PlatformAnswerMalformed({ operation: `${request.method} ${request.route}` })
      )
    )

  const get = (path: string): Call => ({ method: "GET", path, route: path })
  const post = (path: string, body?: unknown): Call => ({ method: "POST", path, route: path, body })

  const sendAnswer = ({ applicationId, text, token }: InteractionAnswer, method: "PATCH" | "POST", message = "") =>
    Effect.map(
      call(null, CreatedMessage, {
        method,
        path: `webhooks/${segment(applicationId)}/${segment(Redacted.value(token))}${message}`,
        route: `webhooks/${Redacted.value(token)}`,
        body: { content: text, allowed_mentions: allowedMentions }
      }),
      ({ id }) => id
    )

  return {
    findBotUser: (token: Redacted.Redacted) => call(token, DiscordUser, get("users/@me")),
    findApplication: (token: Redacted.Redacted) => call(token, DiscordApplication, get("applications/@me")),
    findGateway: (token: Redacted.Redacted) => call(token, GatewayInformation, get("gateway/bot")),

    /** Registers `/ask` if absent. Idempotent. */
    registerAskCommand: (token: Redacted.Redacted, applicationId: string): Effect.Effect<void, DiscordFailure> => {
      const path = `applications/${segment(applicationId)}/commands`
      return Effect.flatMap(call(token, Schema.Array(DiscordCommand), get(path)), (commands) =>
        commands.some(isAskCommand) ? Effect.void : Effect.asVoid(send(token, post(path, askCommand)))
      )
    },

    /** Returns the id of the message. Idempotent by the nonce for some minutes. */
    sendText: (token: Redacted.Redacted, { channelId, nonce, replyTo, text }: DiscordText) => {
      const message = {
        content: text,
        nonce,
        enforce_nonce: true,
        allowed_mentions: allowedMentions,
        ...Option.match(replyTo, {
          onNone: () => ({}),
          onSome: (id) => ({ message_reference: { message_id: id, fail_if_not_exists: false } })
        })
      }
      const path = `channels/${segment(channelId)}/messages`
      return Effect.map(call(token, CreatedMessage, post(path, message)), ({ id }) => id)
    },

    /** Shows the typing indicator for at most 10 seconds. */
    showTyping: (token: Redacted.Redacted, channelId: string) =>
      Effect.asVoid(send(token, post(`channels/${segment(channelId)}/typing`))),

    /** Acknowledges a command received over the gateway; the answer follows by `answerInteraction`. */
    deferInteraction: (interactionId: string, token: Redacted.Redacted) =>
      Effect.asVoid(
        send(null, {
          method: "POST",
          path: `interactions/${segment(interactionId)}/${segment(Redacted.value(token))}/callback`,
          route: `interactions/${interactionId}`,
          body: { type: 5 }
        })
      ),

    /** Replaces the deferred answer of a command. Idempotent. */
    answerInteraction: (answer: InteractionAnswer) => sendAnswer(answer, "PATCH", "/messages/@original"),

    /** Adds a message to the answer of a command. Not idempotent. */
    continueInteraction: (answer: InteractionAnswer) => sendAnswer(answer, "POST"),

    /** Downloads an attachment, which requires no token. */
    downloadAttachment: (url: string, maximumBytes: number): Effect.Effect<Uint8Array, DiscordFailure> => {
      const address = URL.canParse(url) ? new URL(url) : null
      if (address === null || !isAttachmentAddress(address, apiUrl) || !isSecureAddress(address))
        return new PlatformAnswerMalformed({ operation: "attachment address" })
      return Effect.flatMap(
        exchange(HttpClientRequest.get(address), { timeout: "60 seconds", maximumBytes }),
        ({ bytes, status }) =>
          status === 200
            ? Effect.succeed(bytes)
            : new DiscordRequestRejected({ status, code: 0, retryAfter: Option.none() })
      )
    }
  }
})
