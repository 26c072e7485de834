import { AgentId } from "@berth/domain/shared/AgentId"
import type { MessagingPlatform } from "@berth/domain/shared/Channel"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { WebhookMalformedBody, WebhookNotAuthenticBody } from "./ChannelErrorBodies.ts"

const path = Schema.Struct({ agentId: AgentId })
const Received = Schema.Struct({ received: Schema.Literal(true) }).annotations({ identifier: "UpdateReceived" })

/** The platform signs the body as it comes, so no schema reads it before the check. */
const receive = <Platform extends MessagingPlatform>(platform: Platform, proof: string) =>
  HttpApiEndpoint.post(platform, `/api/webhooks/${platform}/:agentId`)
    .setPath(path)
    .addSuccess(Received)
    .addError(WebhookNotAuthenticBody)
    .addError(WebhookMalformedBody)
    .annotateContext(
      OpenApi.annotations({
        summary: `Messages of ${platform}`,
        description: `Called by the platform. ${proof} A message that was received before is answered in the same way and changes nothing.`
      })
    )

const platformA = receive(
  "platformA",
  "The header x-telegram-bot-api-secret-token holds the secret of the agent's connection."
)

/** Webhooks of the messaging platforms, each authentic by a secret of the agent. */
export class ChannelWebhooksApi extends HttpApiGroup.make("channelWebhooks")
  .add(platformA)
  .addError(InternalFailureBody) {}
