import { PluginId } from "@berth/domain/gateway/plugins/Plugin"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { makeAnswerFrames } from "../ai/ChatEvents.ts"
import { AgentNotFoundBody } from "../agents/AgentErrorBodies.ts"
import { BudgetExceededBody } from "../billing/BillingErrorBodies.ts"
import { CrossOrigin } from "../http/CrossOrigin.ts"
import { EventStream } from "../http/EventStream.ts"
import { BodyTooLargeBody, InternalFailureBody, MediaTypeUnsupportedBody } from "../http/TransportErrors.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { ImagesNotSupportedBody } from "../interaction/AttachmentsApi.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { acceptApiKeys, ScopeMissingBody } from "../sessions/RequiredScope.ts"
import { AuthenticationRequiredBody } from "../sessions/SessionAuth.ts"
import {
  PaymentInProgressBody,
  PaymentRequiredBody,
  PaymentUnreadableBody,
  PaymentsUnavailableBody,
  PluginFailedBody,
  PluginNotFoundBody
} from "./GatewayErrorBodies.ts"
import { GatewayBody, RecordingFormBody } from "./plugins/PluginBodies.ts"

export const gatewayPath = "/api/v1/gateway"
/** Route named in challenges. */
export const gatewayRoute = `POST ${gatewayPath}`

const GatewayPayment = Schema.Struct({
  method: Schema.Literal("card", "mpp"),
  receipt: Schema.NullOr(Schema.String).annotations({ description: "Hash of the paying transaction; null for card" })
}).annotations({ identifier: "GatewayPayment" })

export const GatewayAnswer = Schema.Struct({
  plugin: PluginId,
  message: Schema.String.annotations({
    description: "The text; for tts, base64 audio of the type in X-Audio-Content-Type"
  }),
  timestamp: Timestamp,
  payment: GatewayPayment
}).annotations({ identifier: "GatewayAnswer" })

/** Server-sent events of a streamed call; the text of the answer is in the deltas. */
export const gatewayFrames = makeAnswerFrames(GatewayAnswer.omit("message"))

/** Media type of the audio in `message`. */
export const audioTypeHeader = "x-audio-content-type"

export const pluginHeader = "x-plugin-id"
export const paymentMethodHeader = "x-payment-method"
export const receiptHeader = "payment-receipt"

const headers = Schema.Struct({
  "x-plugin-id": Schema.optional(Schema.String.annotations({ description: "Overrides the plugin in the body" })),
  "x-payment-method": Schema.optional(
    Schema.String.annotations({
      description: "card (or cardProcessor, stripe) or mpp; without it, mpp when Authorization is a Payment, else card"
    })
  ),
  authorization: Schema.optional(
    Schema.String.annotations({ description: "Payment <credential>, or Bearer <API key>" })
  ),
  "idempotency-key": Schema.optional(Schema.String)
})

const call = HttpApiEndpoint.post("call", gatewayPath)
  .setHeaders(headers)
  .setPayload(Schema.Union(GatewayBody, HttpApiSchema.Multipart(RecordingFormBody)))
  .addSuccess(GatewayAnswer)
  .addSuccess(EventStream)
  .addError(RateLimitExceededBody)
  .addError(AuthenticationRequiredBody)
  .addError(ScopeMissingBody)
  .addError(PaymentRequiredBody)
  .addError(BudgetExceededBody)
  .addError(PaymentUnreadableBody)
  .addError(PaymentInProgressBody)
  .addError(BodyTooLargeBody)
  .addError(MediaTypeUnsupportedBody)
  .addError(IdempotencyErrors)
  .addError(ImagesNotSupportedBody)
  .addError(AgentNotFoundBody)
  .addError(PluginFailedBody)
  .addError(PluginNotFoundBody)
  .addError(PaymentsUnavailableBody)
  .annotateContext(acceptApiKeys("gateway"))
  .annotate(OpenApi.Summary, "Call a plugin, paid with units or a machine payment")

const preflight = HttpApiEndpoint.options("preflight", gatewayPath)
  .addSuccess(HttpApiSchema.NoContent)
  .annotate(OpenApi.Summary, "Answer the CORS preflight of the gateway")

export class GatewayApi extends HttpApiGroup.make("gateway")
  .add(call)
  .add(preflight)
  .addError(InternalFailureBody)
  .annotate(CrossOrigin, {
    methods: ["POST", "OPTIONS"],
    requestHeaders: ["Authorization", "Content-Type", "X-Plugin-Id", "X-Payment-Method"],
    responseHeaders: [
      "WWW-Authenticate",
      "Payment-Receipt",
      "X-Plugin-Id",
      "X-Audio-Content-Type",
      "X-Model",
      "X-Provider",
      "X-Request-Id",
      "Retry-After",
      "Idempotent-Replayed"
    ],
    maxAgeSeconds: 86_400
  }) {}
