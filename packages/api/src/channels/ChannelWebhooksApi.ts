import { AgentId } from "@berth/domain/shared/AgentId"
import type { MessagingPlatform } from "@berth/domain/shared/Channel"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { WebhookMalformedBody, WebhookNotAuthenticBody } from "./ChannelErrorBodies.ts"

const path = Schema.Struct({ agentId: AgentId })
const Received = Schema.Struct({ received: Schema.Literal(true) }).annotations({ identifier: "UpdateReceived" })

/** The platform signs the raw body, so no schema reads it before the check. */
const receive = <Platform extends MessagingPlatform>(platform: Platform, proof: string) =>
  HttpApiEndpoint.post(platform, `/api/webhooks/${platform}/:agentId`)
    .setPath(path)
    .addSuccess(Received)
    .addError(WebhookNotAuthenticBody)
    .addError(WebhookMalformedBody)
    .annotate(OpenApi.Summary, `Receive a message of ${platform}`)
    .annotate(
      OpenApi.Description,
      `Called by the platform. ${proof} A repeated message receives the same response and has no effect.`
    )

const platformA = receive(
  "platformA",
  "The header x-telegram-bot-api-secret-token holds the secret of the agent's connection."
)

const platformB = receive(
  "platformB",
  "The header x-hub-signature-256 signs the body with the app secret of the agent's connection."
)

const platformBHandshake = HttpApiEndpoint.get("platformBHandshake", "/api/webhooks/platformB/:agentId")
  .setPath(path)
  .setUrlParams(
    Schema.Struct({
      "hub.mode": Schema.optional(Schema.String),
      "hub.verify_token": Schema.optional(Schema.String),
      "hub.challenge": Schema.optional(Schema.String)
    })
  )
  .addSuccess(HttpApiSchema.Text())
  .addError(WebhookNotAuthenticBody)
  .annotate(OpenApi.Summary, "Verify the webhook of platformB")
  .annotate(
    OpenApi.Description,
    "Called by the platform when the webhook is registered. Returns hub.challenge if hub.verify_token equals the verify token of the agent's connection."
  )

const platformC = receive(
  "platformC",
  "The headers x-signature-ed25519 and x-signature-timestamp sign the body with the key of the agent's application. A ping is answered by {type: 1}, a command by {type: 5}; its answer follows."
)

/** Webhooks of the messaging platforms, authenticated by a secret of the agent. */
export class ChannelWebhooksApi extends HttpApiGroup.make("channelWebhooks")
  .add(platformA)
  .add(platformB)
  .add(platformBHandshake)
  .add(platformC)
  .addError(InternalFailureBody) {}
