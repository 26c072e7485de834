import { Context, type DateTime, type Effect, type Redacted } from "effect"
import type { WebhookReceiverUnreachable } from "./WebhookErrors.ts"

export interface WebhookMessage {
  /** The same for every attempt. */
  readonly id: string
  readonly sentAt: DateTime.Utc
  readonly body: string
  /** Each secret signs the message; without secrets the message is unsigned. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  /** Headers in addition to the signature. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends signed messages to endpoints, with a time limit and to permitted networks only. */
export class WebhookReceiver extends Context.Tag("@berth/WebhookReceiver")<
  WebhookReceiver,
  { readonly post: (url: URL, message: WebhookMessage) => Effect.Effect<number, WebhookReceiverUnreachable> }
>() {}
