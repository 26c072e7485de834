import { Context, type DateTime, type Effect, type Either, type Option, type Stream } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { MessagingPlatform } from "../shared/Channel.ts"
import type { BotIdentity, ChannelSecrets, SuppliedSecrets } from "./ChannelConnection.ts"
import type {
  ChannelFileTooLarge,
  ChannelReaderConflict,
  ChannelTokenRefused,
  PlatformFailure,
  PlatformUnreachable,
  WebhookMalformed,
  WebhookNotAuthentic
} from "./ChannelErrors.ts"
import type { InboundFile, ReceivedMessage } from "./ChannelMessage.ts"

export interface ConnectedBot {
  readonly agentId: AgentId
  readonly bot: BotIdentity
  readonly secrets: ChannelSecrets
}

/** A webhook request for an agent. Header names are in lower case. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
  readonly receivedAt: DateTime.Utc
}

/** Messages of a webhook request. `response` replaces the default response, for handshakes of the platform. */
export interface WebhookReception {
  readonly messages: ReadonlyArray<ReceivedMessage>
  readonly response?: { readonly contentType: string; readonly body: string } | undefined
}

/** Messages of a reader. The next batch is read after `cursor` is stored. */
export interface ReceivedBatch {
  readonly messages: ReadonlyArray<ReceivedMessage>
  readonly cursor: string | null
}

/** One message of the platform: formatted text, and the plain text to send if the platform rejects the format. */
export interface OutgoingPart {
  readonly formatted: string
  readonly plain: string
}

export interface OutgoingAddress {
  readonly chatId: string
  /** The message that is answered. */
  readonly replyTo: string | null
  /** Index of the part in its text, from 0. */
  readonly part: number
  /** The same for every attempt to send the part; unique to the part. */
  readonly idempotencyKey: string
}

/** A messaging platform. Adapters never retry; callers decide. */
export interface ChannelPlatform {
  readonly platform: MessagingPlatform
  /** Whether messages arrive at a webhook, provided that Berth has a public address. */
  readonly hasWebhook: boolean
  readonly verify: (secrets: SuppliedSecrets) => Effect.Effect<BotIdentity, ChannelTokenRefused | PlatformUnreachable>
  /** Registers the webhook, or removes it in favor of readers. Idempotent. */
  readonly activate: (bot: ConnectedBot, webhookUrl: Option.Option<URL>) => Effect.Effect<void, PlatformFailure>
  /** Stops the delivery to the webhook. */
  readonly deactivate: (bot: ConnectedBot) => Effect.Effect<void, PlatformFailure>
  /**
   * Verifies a platform's verification request for a webhook, before the bot is known. Pure. Returns the text of the
   * response.
   */
  readonly answerHandshake?: (secrets: ChannelSecrets, query: URLSearchParams) => Option.Option<string>
  /** Verifies and parses a webhook request. Pure. Events of unknown kinds contain no messages. */
  readonly receive: (
    bot: ConnectedBot,
    request: WebhookRequest
  ) => Either.Either<WebhookReception, WebhookNotAuthentic | WebhookMalformed>
  /**
   * Reads messages after the cursor; absent if the platform has webhooks only. The stream is pulled one batch at a
   * time.
   */
  readonly read?: (
    bot: ConnectedBot,
    cursor: string | null
  ) => Stream.Stream<ReceivedBatch, PlatformFailure | ChannelReaderConflict>
  /** Splits Markdown into parts within the platform's limits. Pure and deterministic. */
  readonly split: (markdown: string) => ReadonlyArray<OutgoingPart>
  /** Sends one part and returns the platform's id of the message. */
  readonly send: (bot: ConnectedBot, to: OutgoingAddress, part: OutgoingPart) => Effect.Effect<string, PlatformFailure>
  readonly showTyping: (
    bot: ConnectedBot,
    to: { readonly chatId: string; readonly messageId: string }
  ) => Effect.Effect<void, PlatformFailure>
  readonly download: (
    bot: ConnectedBot,
    file: InboundFile
  ) => Effect.Effect<Uint8Array, PlatformFailure | ChannelFileTooLarge>
}

/** The adapters of this service by platform. */
export class ChannelPlatforms extends Context.Tag("@berth/ChannelPlatforms")<
  ChannelPlatforms,
  ReadonlyMap<MessagingPlatform, ChannelPlatform>
>() {}
