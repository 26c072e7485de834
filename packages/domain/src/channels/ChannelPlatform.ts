import { Context, type DateTime, type Effect, type Either, type Option, type Stream } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { MessagingPlatform } from "../shared/Channel.ts"
import type { BotIdentity, ChannelSecrets, GivenSecrets } from "./ChannelConnection.ts"
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

/** A connected bot. */
export interface ConnectedBot {
  readonly agentId: AgentId
  readonly bot: BotIdentity
  readonly secrets: ChannelSecrets
}

/** A request at the webhook of an agent. Header names are in lower case. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
  readonly receivedAt: DateTime.Utc
}

/** The messages of a webhook request. `response` replaces the usual one, for handshakes of the platform. */
export interface WebhookReception {
  readonly messages: ReadonlyArray<ReceivedMessage>
  readonly response?: { readonly contentType: string; readonly body: string } | undefined
}

/** Messages that a reader has received. The next ones are read once `cursor` is stored. */
export interface ReceivedBatch {
  readonly messages: ReadonlyArray<ReceivedMessage>
  readonly cursor: string | null
}

/** One message of the platform: formatted text with the plain text that replaces it when the platform refuses the format. */
export interface OutgoingPart {
  readonly formatted: string
  readonly plain: string
}

export interface OutgoingAddress {
  readonly chatId: string
  /** The message that is answered. */
  readonly replyTo: string | null
  /** Place of the part in its text, from 0. */
  readonly part: number
  /** The same at every attempt to send the part, and for no other. */
  readonly idempotencyKey: string
}

/** A messaging platform. Adapters repeat nothing: their callers decide about retries. */
export interface ChannelPlatform {
  readonly platform: MessagingPlatform
  /** True where messages arrive at a webhook if Berth has a public address. */
  readonly hasWebhook: boolean
  /** Returns the bot of the token. */
  readonly verify: (secrets: GivenSecrets) => Effect.Effect<BotIdentity, ChannelTokenRefused | PlatformUnreachable>
  /** Directs the bot's messages to the webhook, or to readers when there is none. Idempotent. */
  readonly activate: (bot: ConnectedBot, webhookUrl: Option.Option<URL>) => Effect.Effect<void, PlatformFailure>
  /** Ends the delivery to the webhook. */
  readonly deactivate: (bot: ConnectedBot) => Effect.Effect<void, PlatformFailure>
  /** Verifies a request by which the platform tests a webhook, before the bot is known. Pure. Returns the text to answer. */
  readonly answerHandshake?: (secrets: ChannelSecrets, query: URLSearchParams) => Option.Option<string>
  /** Verifies and parses a webhook request. Pure. Unknown kinds of events have no messages. */
  readonly receive: (
    bot: ConnectedBot,
    request: WebhookRequest
  ) => Either.Either<WebhookReception, WebhookNotAuthentic | WebhookMalformed>
  /** Reads messages from after the cursor; absent where only webhooks exist. The stream is pulled one batch at a time. */
  readonly read?: (
    bot: ConnectedBot,
    cursor: string | null
  ) => Stream.Stream<ReceivedBatch, PlatformFailure | ChannelReaderConflict>
  /** Splits Markdown into parts within the platform's limits. Pure, and the same for the same text. */
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
