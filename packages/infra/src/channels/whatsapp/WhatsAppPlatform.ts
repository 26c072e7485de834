import type { BotIdentity, ChannelSecrets, SuppliedSecrets } from "@berth/domain/channels/ChannelConnection"
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
import type { InboundFile, ReceivedMessage } from "@berth/domain/channels/ChannelMessage"
import type { ChannelPlatform, ConnectedBot } from "@berth/domain/channels/ChannelPlatform"
import { Duration, Effect, Either, Option, type Redacted } from "effect"
import { makeWhatsAppClient } from "./WhatsAppClient.ts"
import {
  classifyWhatsAppRejection,
  describeWhatsAppRejection,
  type WhatsAppFailure,
  WhatsAppRequestRejected
} from "./WhatsAppErrors.ts"
import type { PhoneNumber, TokenInspection } from "./WhatsAppObjects.ts"
import { splitForWhatsApp } from "./WhatsAppMarkdown.ts"
import {
  isSignatureValid,
  readChallenge,
  readNotification,
  type NotifiedMessage,
  type WhatsAppMedia
} from "./WhatsAppWebhook.ts"
import { isOversized, toTokenVerdict, toPlatformUnreachable } from "../PlatformVerdict.ts"

interface WhatsAppOptions {
  /** Address of the Graph API, including the version. */
  readonly apiUrl: URL
  /** Secret for agents without one. */
  readonly appSecret: Option.Option<Redacted.Redacted>
  readonly verifyToken: Option.Option<Redacted.Redacted>
}

const requiredScopes = ["whatsapp_business_messaging", "whatsapp_business_management"]
const noNumber =
  "The WhatsApp access token reaches no such phone number; assign a WhatsApp business account to its system user, or name businessAccountId."
const maximumFileBytes = 20 * 1024 * 1024

/** Pauses by error code: throughput of the number, messages to one recipient, calls of the account, and spam. */
const pauses: ReadonlyMap<number, Duration.Duration> = new Map([
  [130429, Duration.seconds(10)],
  [131056, Duration.minutes(1)],
  [80007, Duration.minutes(5)],
  [131048, Duration.minutes(30)]
])
const usualPause = Duration.minutes(1)

const toPlatformFailure = (failure: WhatsAppFailure): PlatformFailure => {
  if (failure._tag !== "WhatsAppRequestRejected") return toPlatformUnreachable("WhatsApp", failure)
  const reason = describeWhatsAppRejection(failure)
  switch (classifyWhatsAppRejection(failure)) {
    case "token-rejected":
    case "permission-missing":
      return new ChannelTokenRefused({ reason })
    case "rate-limited":
      return new PlatformThrottled({ retryAfter: pauses.get(failure.code) ?? usualPause })
    case "unavailable":
      return new PlatformUnreachable({ reason, mayHaveArrived: true })
    case "account-restricted":
    case "window-closed":
    case "recipient-unreachable":
    case "invalid":
      return new PlatformRequestRefused({ reason })
  }
}

/** Returns the business accounts that a token can access, the most recent first. */
const readBusinessAccounts = ({ granular_scopes }: TokenInspection["data"]): ReadonlyArray<string> => [
  ...new Set(
    granular_scopes.filter(({ scope }) => requiredScopes.includes(scope)).flatMap(({ target_ids }) => target_ids ?? [])
  )
]

const nameOf = ({ display_phone_number, id, verified_name }: PhoneNumber) =>
  [verified_name, display_phone_number].filter((part) => part !== undefined && part !== null).join(" ") || id

const fileKinds = {
  image: "photo",
  audio: "audio",
  video: "video",
  document: "document",
  sticker: "sticker"
} as const satisfies Record<WhatsAppMedia["kind"], InboundFile["kind"]>

const toFile = ({ filename, id, isVoice, kind, mimeType }: WhatsAppMedia): InboundFile => ({
  kind: isVoice ? "voice" : fileKinds[kind],
  id,
  name: Option.getOrNull(filename),
  mediaType: Option.getOrNull(mimeType),
  bytes: null,
  seconds: null
})

const toReceived = ({ from, id, media, senderName, sentAtSeconds, text }: NotifiedMessage, index: number) =>
  ({
    chatId: from,
    externalId: id,
    version: 0,
    // The platform's times are in seconds; messages within one second stay in their order of delivery.
    sequence: sentAtSeconds * 1_000 + index,
    content: {
      messageId: id,
      text,
      senderName: Option.getOrElse(senderName, () => from),
      senderIsBot: false,
      isGroup: false,
      command: /^\/([a-z]+)\s*$/.exec(text)?.[1] ?? null,
      files: Option.toArray(Option.map(media, toFile))
    }
  }) satisfies ReceivedMessage

/** WhatsApp over the Cloud API of Meta. */
export const makeWhatsAppPlatform = ({ apiUrl, appSecret, verifyToken }: WhatsAppOptions) =>
  Effect.map(makeWhatsAppClient(apiUrl), (client): ChannelPlatform => {
    const appSecretOf = (secrets: ChannelSecrets) =>
      Option.orElse(Option.fromNullable(secrets.appSecret), () => appSecret)
    /** Accepted verify tokens of a subscription: the owner's or operator's, and the token registered by Berth. */
    const verifyTokensOf = (secrets: ChannelSecrets) => [
      ...Option.toArray(Option.orElse(Option.fromNullable(secrets.verifyToken), () => verifyToken)),
      secrets.webhookSecret
    ]

    /**
     * Returns the named number, else the first number of the named account, else of the accounts that the token can
     * access.
     */
    const findNumber = Effect.fnUntraced(function* (
      { businessAccountId, phoneNumberId, token }: SuppliedSecrets,
      granted: ReadonlyArray<string>
    ) {
      const accounts = businessAccountId === undefined ? granted : [businessAccountId]
      for (const account of accounts) {
        const numbers = yield* client.listPhoneNumbers(token, account)
        const number = numbers.find(({ id }) => phoneNumberId === undefined || id === phoneNumberId)
        if (number !== undefined) return { businessAccountId: account, number }
      }
      return yield* new ChannelTokenRefused({ reason: noNumber })
    })

    const verify = (secrets: SuppliedSecrets): Effect.Effect<BotIdentity, ChannelTokenRefused | PlatformUnreachable> =>
      Effect.gen(function* () {
        const inspection = yield* client.inspectToken(secrets.token)
        if (!inspection.is_valid) return yield* new WhatsAppRequestRejected({ status: 401, code: 190 })
        if (!requiredScopes.every((scope) => inspection.scopes.includes(scope)))
          return yield* new WhatsAppRequestRejected({ status: 403, code: 10 })
        const { businessAccountId, number } = yield* findNumber(secrets, readBusinessAccounts(inspection))
        return { id: number.id, name: nameOf(number), details: { businessAccountId } }
      }).pipe(
        Effect.mapError((failure) =>
          failure._tag === "ChannelTokenRefused" ? failure : toTokenVerdict(toPlatformFailure(failure))
        )
      )

    return {
      platform: "platformB",
      hasWebhook: true,
      verify,
      activate: ({ bot, secrets }, webhookUrl) =>
        Effect.gen(function* () {
          if (Option.isNone(appSecretOf(secrets)))
            return yield* new PlatformRequestRefused({
              reason: "WhatsApp signs messages with the app secret; set platformB.appSecret of this agent's channels."
            })
          yield* client.subscribe(secrets.token, bot.details.businessAccountId ?? "")
          yield* client.setCallback(
            secrets.token,
            bot.id,
            Option.map(webhookUrl, (url) => ({ url, verifyToken: secrets.webhookSecret }))
          )
        }).pipe(
          Effect.mapError((failure) =>
            failure._tag === "PlatformRequestRefused" ? failure : toPlatformFailure(failure)
          )
        ),
      deactivate: ({ bot, secrets }) =>
        Effect.mapError(client.setCallback(secrets.token, bot.id, Option.none()), toPlatformFailure),
      receive: (bot: ConnectedBot, { body, headers }) => {
        const secret = appSecretOf(bot.secrets)
        if (Option.isNone(secret) || !isSignatureValid(secret.value, body, headers["x-hub-signature-256"]))
          return Either.left(new WebhookNotAuthentic())
        return Option.match(readNotification(Buffer.from(body).toString("utf8"), bot.bot.id), {
          onNone: () => Either.left(new WebhookMalformed()),
          onSome: (messages) => Either.right({ messages: messages.map(toReceived) })
        })
      },
      answerHandshake: (secrets, query) =>
        Option.firstSomeOf(verifyTokensOf(secrets).map((token) => readChallenge(token, query))),
      split: splitForWhatsApp,
      send: ({ bot, secrets }, { chatId, part, replyTo }, { formatted }) =>
        Effect.mapError(
          client.sendText(secrets.token, {
            phoneNumberId: bot.id,
            to: chatId,
            text: formatted,
            replyTo: part === 0 ? Option.fromNullable(replyTo) : Option.none()
          }),
          toPlatformFailure
        ),
      showTyping: ({ bot, secrets }, { messageId }) =>
        Effect.mapError(client.showTyping(secrets.token, bot.id, messageId), toPlatformFailure),
      download: ({ secrets }, { id }) =>
        Effect.gen(function* () {
          const details = yield* client.findMedia(secrets.token, id)
          if ((details.file_size ?? 0) > maximumFileBytes)
            return yield* new ChannelFileTooLarge({ limitBytes: maximumFileBytes })
          return yield* client.downloadMedia(secrets.token, details, maximumFileBytes)
        }).pipe(
          Effect.mapError((failure) => {
            if (failure._tag === "ChannelFileTooLarge") return failure
            return isOversized(failure)
              ? new ChannelFileTooLarge({ limitBytes: maximumFileBytes })
              : toPlatformFailure(failure)
          })
        )
    }
  })
