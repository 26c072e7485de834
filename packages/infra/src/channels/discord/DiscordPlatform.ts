import type { BotIdentity, SuppliedSecrets } from "@berth/domain/channels/ChannelConnection"
import {
  ChannelFileTooLarge,
  ChannelTokenRefused,
  type PlatformFailure,
  PlatformRequestRefused,
  PlatformThrottled,
  PlatformUnreachable,
  WebhookMalformed,
  WebhookNotAuthentic
} from "@berth/domain/channels/ChannelErrors"
import type {
  ChannelPlatform,
  ConnectedBot,
  OutgoingAddress,
  ReceivedBatch,
  WebhookReception,
  WebhookRequest
} from "@berth/domain/channels/ChannelPlatform"
import { Data, Duration, Effect, Either, Option, Redacted, Schema, Stream } from "effect"
import { createHash } from "node:crypto"
import { makeDiscordClient } from "./DiscordClient.ts"
import { classifyDiscordRejection, describeDiscordRejection, type DiscordFailure } from "./DiscordErrors.ts"
import { isInteractionAuthentic, parseAnswerAddress, readInteraction, readMessage } from "./DiscordEvents.ts"
import { type GatewayEvent, type GatewayRefused, type GatewayUnavailable, readGateway } from "./DiscordGateway.ts"
import { splitForDiscord } from "./DiscordMarkdown.ts"
import { GatewaySession, selectIntents } from "./GatewayProtocol.ts"
import { isOversized, toTokenVerdict, toPlatformUnreachable } from "../PlatformVerdict.ts"

interface DiscordOptions {
  /** Address of the HTTP API, including the version. */
  readonly apiUrl: URL
}

const maximumFileBytes = 20 * 1024 * 1024
const usualPause = Duration.seconds(5)
/** Maximum events without an answer before the cursor moves. */
const eventsPerCursor = 50

const responseTypes = { pong: 1, deferredMessage: 5 } as const

const toPlatformFailure = (failure: DiscordFailure): PlatformFailure => {
  if (failure._tag !== "DiscordRequestRejected") return toPlatformUnreachable("Discord", failure)
  const reason = describeDiscordRejection(failure)
  switch (classifyDiscordRejection(failure)) {
    case "token-rejected":
      return new ChannelTokenRefused({ reason })
    case "rate-limited":
      return new PlatformThrottled({ retryAfter: Option.getOrElse(failure.retryAfter, () => usualPause) })
    case "unavailable":
      return new PlatformUnreachable({ reason, mayHaveArrived: true })
    case "interaction-expired":
    case "recipient-unreachable":
    case "invalid":
      return new PlatformRequestRefused({ reason })
  }
}

/**
 * Maps a failure of a repeatable request: Discord recognizes the nonce of a message, and replaces a deferred answer.
 */
const toRepeatableFailure = (failure: DiscordFailure): PlatformFailure => {
  const mapped = toPlatformFailure(failure)
  return mapped._tag === "PlatformUnreachable"
    ? new PlatformUnreachable({ reason: mapped.reason, mayHaveArrived: false })
    : mapped
}

class InteractionExpired extends Data.TaggedError("InteractionExpired")<object> {}

const toInteractionFailure =
  (map: (failure: DiscordFailure) => PlatformFailure) =>
  (failure: DiscordFailure): PlatformFailure | InteractionExpired =>
    failure._tag === "DiscordRequestRejected" && classifyDiscordRejection(failure) === "interaction-expired"
      ? new InteractionExpired()
      : map(failure)

const SessionCursor = Schema.parseJson(GatewaySession)
const decodeCursor = Schema.decodeUnknownOption(SessionCursor)
const encodeCursor = Schema.encodeSync(SessionCursor)

const parseJson = Schema.decodeUnknownOption(Schema.parseJson())

const jsonResponse = (body: unknown) => ({ contentType: "application/json", body: JSON.stringify(body) })

/**
 * Discord over its HTTP API and gateway. Slash commands arrive at the gateway, or at the webhook if the owner
 * configures it.
 */
export const makeDiscordPlatform = ({ apiUrl }: DiscordOptions) =>
  Effect.map(makeDiscordClient(apiUrl), (client): ChannelPlatform => {
    const verify = ({
      token
    }: SuppliedSecrets): Effect.Effect<BotIdentity, ChannelTokenRefused | PlatformUnreachable> =>
      Effect.gen(function* () {
        const user = yield* client.findBotUser(token)
        const application = yield* client.findApplication(token)
        return {
          id: user.id,
          name: user.username,
          details: {
            applicationId: application.id,
            verifyKey: application.verify_key,
            intents: String(selectIntents(application.flags))
          }
        }
      }).pipe(Effect.mapError((failure) => toTokenVerdict(toPlatformFailure(failure))))

    const receive = (
      { bot }: ConnectedBot,
      request: WebhookRequest
    ): Either.Either<WebhookReception, WebhookNotAuthentic | WebhookMalformed> => {
      const { applicationId = "", verifyKey = "" } = bot.details
      if (!isInteractionAuthentic(verifyKey, request)) return Either.left(new WebhookNotAuthentic())
      const interaction = Option.flatMap(parseJson(Buffer.from(request.body).toString("utf8")), (data) =>
        readInteraction(data, applicationId)
      )
      if (Option.isNone(interaction) || interaction.value._tag === "Other") return Either.left(new WebhookMalformed())
      return Either.right(
        interaction.value._tag === "Ping"
          ? { messages: [], response: jsonResponse({ type: responseTypes.pong }) }
          : { messages: [interaction.value.message], response: jsonResponse({ type: responseTypes.deferredMessage }) }
      )
    }

    const findUrl = (token: Redacted.Redacted) =>
      Effect.flatMap(Effect.mapError(client.findGateway(token), toPlatformFailure), ({ session_start_limit, url }) =>
        session_start_limit.remaining > 0
          ? Effect.succeed(url)
          : new PlatformThrottled({ retryAfter: Duration.millis(session_start_limit.reset_after) })
      )

    const toReadFailure = (failure: GatewayRefused | GatewayUnavailable | PlatformFailure): PlatformFailure => {
      if (failure._tag === "GatewayRefused") return new ChannelTokenRefused({ reason: failure.reason })
      return failure._tag === "GatewayUnavailable"
        ? new PlatformUnreachable({
            reason: `Discord's gateway cannot be reached: ${failure.reason}.`,
            mayHaveArrived: false
          })
        : failure
    }

    /** Acknowledges a command within 3 seconds, unless a resumed session repeats it. */
    const acknowledge = ({ data, type }: GatewayEvent, applicationId: string) => {
      const request = type === "INTERACTION_CREATE" ? readInteraction(data, applicationId) : Option.none()
      return Option.isSome(request) && request.value._tag === "Question"
        ? client
            .deferInteraction(request.value.interactionId, Redacted.make(request.value.token))
            .pipe(
              Effect.catchAll(({ _tag }) =>
                Effect.logInfo("Slash command not acknowledged").pipe(Effect.annotateLogs({ reason: _tag }))
              )
            )
        : Effect.void
    }

    const toBatch = ({ data, session, type }: GatewayEvent, bot: BotIdentity): Option.Option<ReceivedBatch> => {
      const cursor = encodeCursor(session)
      const request =
        type === "INTERACTION_CREATE" ? readInteraction(data, bot.details.applicationId ?? "") : Option.none()
      const message =
        Option.isSome(request) && request.value._tag === "Question"
          ? Option.some(request.value.message)
          : type === "MESSAGE_CREATE"
            ? readMessage(data, bot.id)
            : Option.none()
      const isDue = type === "READY" || type === "RESUMED" || session.sequence % eventsPerCursor === 0
      return Option.isSome(message) || isDue
        ? Option.some({ messages: Option.toArray(message), cursor })
        : Option.none()
    }

    const sendToChannel = (
      { secrets }: ConnectedBot,
      { chatId, idempotencyKey, part, replyTo }: OutgoingAddress,
      text: string
    ) =>
      client.sendText(secrets.token, {
        channelId: chatId,
        text,
        replyTo: part === 0 ? Option.fromNullable(replyTo) : Option.none(),
        nonce: createHash("sha256").update(idempotencyKey).digest("base64url").slice(0, 25)
      })

    return {
      platform: "platformC",
      hasWebhook: false,
      verify,
      activate: ({ bot, secrets }) =>
        Effect.mapError(client.registerAskCommand(secrets.token, bot.details.applicationId ?? ""), toPlatformFailure),
      deactivate: () => Effect.void,
      receive,
      read: ({ bot, secrets }, cursor) =>
        readGateway({
          token: secrets.token,
          intents: Number(bot.details.intents),
          session: Option.flatMap(Option.fromNullable(cursor), decodeCursor),
          findUrl: findUrl(secrets.token),
          onArrival: (event) => acknowledge(event, bot.details.applicationId ?? "")
        }).pipe(
          Stream.filterMap((event) => toBatch(event, bot)),
          Stream.mapError(toReadFailure)
        ),
      split: splitForDiscord,
      send: (bot, to, { formatted }) =>
        Option.match(parseAnswerAddress(to.replyTo), {
          onNone: () => Effect.mapError(sendToChannel(bot, to, formatted), toRepeatableFailure),
          onSome: ({ applicationId, token }) => {
            const answer = { applicationId, token: Redacted.make(token), text: formatted }
            const sent =
              to.part === 0
                ? Effect.mapError(client.answerInteraction(answer), toInteractionFailure(toRepeatableFailure))
                : Effect.mapError(client.continueInteraction(answer), toInteractionFailure(toPlatformFailure))
            // After 15 minutes the answer becomes a separate message.
            return Effect.catchTag(sent, "InteractionExpired", () =>
              Effect.mapError(sendToChannel(bot, { ...to, replyTo: null }, formatted), toRepeatableFailure)
            )
          }
        }),
      showTyping: ({ secrets }, { chatId, messageId }) =>
        Option.isSome(parseAnswerAddress(messageId))
          ? Effect.void
          : Effect.mapError(client.showTyping(secrets.token, chatId), toPlatformFailure),
      download: (_, { bytes, id }) =>
        (bytes ?? 0) > maximumFileBytes
          ? new ChannelFileTooLarge({ limitBytes: maximumFileBytes })
          : Effect.mapError(client.downloadAttachment(id, maximumFileBytes), (failure) =>
              isOversized(failure)
                ? new ChannelFileTooLarge({ limitBytes: maximumFileBytes })
                : toPlatformFailure(failure)
            )
    }
  })
