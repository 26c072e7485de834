import { Context, type DateTime, type Effect, type Redacted } from "effect"
import type { WebhookReceiverUnreachable } from "./WebhookErrors.ts"

export interface WebhookMessage {
  /** The same at every attempt. */
  readonly id: string
  readonly sentAt: DateTime.Utc
  readonly body: string
  /** Each of them signs; without one the message is not signed. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  /** Headers besides those of the signature. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends signed messages to the addresses of endpoints, within a time limit and to permitted networks only. */
export class WebhookReceiver extends Context.Tag("@berth/WebhookReceiver")<
  WebhookReceiver,
  { readonly post: (url: URL, message: WebhookMessage) => Effect.Effect<number, WebhookReceiverUnreachable> }
>() {}
