import { Effect } from "effect"
import { createHmac } from "node:crypto"
import type { StripeEvent } from "./StripeObjects.ts"

interface WebhookSigning {
  readonly secret: string
  /** Epoch seconds of the signature. */
  readonly at: number
  /** A second secret, during its rotation. */
  readonly alsoBy?: string
}

/** The signature header for these bytes. */
export const signWebhook = (body: string, { alsoBy, at, secret }: WebhookSigning): string => {
  const by = (key: string) => `v1=${createHmac("sha256", key).update(`${at}.${body}`).digest("hex")}`
  return [`t=${at}`, by(secret), ...(alsoBy === undefined ? [] : [by(alsoBy)])].join(",")
}

/** Sends an event as the processor does; returns the response's status, or null without a response. */
export const sendWebhook = (
  event: StripeEvent,
  to: URL,
  signing: WebhookSigning,
  header: "stripe-signature" | "cardProcessor-signature" = "stripe-signature"
): Effect.Effect<number | null> => {
  const body = JSON.stringify(event, null, 2)
  return Effect.tryPromise(async (signal) => {
    const answer = await fetch(to, {
      method: "POST",
      headers: { "content-type": "application/json; charset=utf-8", [header]: signWebhook(body, signing) },
      body,
      signal
    })
    await answer.arrayBuffer()
    return answer.status
  }).pipe(
    Effect.timeout("30 seconds"),
    Effect.orElseSucceed(() => null)
  )
}
