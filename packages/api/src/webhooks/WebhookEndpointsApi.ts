import { DomainEventKind } from "@berth/domain/events/DomainEvent"
import { WebhookDeliveryStatus } from "@berth/domain/webhooks/WebhookDelivery"
import {
  DisabledReason,
  maximumEndpointsPerUser,
  WebhookDeliveryId,
  WebhookEndpointId
} from "@berth/domain/webhooks/WebhookEndpoint"
import {
  AccountEventsNotAllowed,
  WebhookDeliveryNotFound,
  WebhookEndpointLimitReached,
  WebhookEndpointNotFound,
  WebhookReplayIncomplete,
  WebhookUrlInvalid
} from "@berth/domain/webhooks/WebhookErrors"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { errorBody, plainErrorBody, reasonErrorBody } from "../http/ErrorBody.ts"
import { pageOf, pageQuery } from "../http/Pagination.ts"
import { payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { SessionAuth } from "../sessions/SessionAuth.ts"

const WebhookEndpointNotFoundBody = plainErrorBody(WebhookEndpointNotFound, {
  status: 404,
  error: "Webhook endpoint not found",
  message: "No webhook endpoint has this id. GET /api/webhooks/endpoints lists yours."
})
const WebhookDeliveryNotFoundBody = plainErrorBody(WebhookDeliveryNotFound, {
  status: 404,
  error: "Delivery not found",
  message: "`deliveryId`: the endpoint has no such delivery. GET /api/webhooks/endpoints/:id/deliveries lists them."
})
const WebhookReplayIncompleteBody = plainErrorBody(WebhookReplayIncomplete, {
  status: 400,
  error: "Nothing to replay",
  message: "Give `deliveryId`, or `since` for the events of a range."
})
const WebhookEndpointLimitReachedBody = errorBody(WebhookEndpointLimitReached, {
  status: 429,
  error: "Too many webhook endpoints",
  message: ({ limit }) => `You have ${limit} webhook endpoints. Delete one that you no longer use.`,
  example: new WebhookEndpointLimitReached({ limit: maximumEndpointsPerUser }),
  read: () => new WebhookEndpointLimitReached({ limit: maximumEndpointsPerUser })
})
const WebhookUrlInvalidBody = reasonErrorBody(WebhookUrlInvalid, {
  status: 400,
  error: "Invalid URL",
  example: "`url` must begin with https://."
})
const AccountEventsNotAllowedBody = plainErrorBody(AccountEventsNotAllowed, {
  status: 403,
  error: "Administrators only",
  message: "`events`: only administrators receive the events `user.*`."
})

const endpointFields = {
  id: WebhookEndpointId,
  url: Schema.String,
  events: Schema.Array(Schema.String),
  ordered: Schema.Boolean,
  status: Schema.Literal("enabled", "disabled"),
  disabledReason: Schema.NullOr(DisabledReason),
  failingSince: Schema.NullOr(Timestamp).annotations({ description: "First failure since the last success" }),
  createdAt: Timestamp
}
const EndpointView = Schema.Struct(endpointFields).annotations({ identifier: "WebhookEndpoint" })
const secret = Schema.Redacted(Schema.String).annotations({
  description: "Verifies deliveries; shown only once. In the format of Standard Webhooks: whsec_…"
})

const DeliveryView = Schema.Struct({
  id: WebhookDeliveryId,
  eventId: Schema.String,
  type: Schema.String,
  status: WebhookDeliveryStatus,
  attempts: Schema.Int,
  nextAttemptAt: Schema.NullOr(Timestamp),
  lastAttemptAt: Schema.NullOr(Timestamp),
  responseStatus: Schema.NullOr(Schema.Int),
  failure: Schema.NullOr(Schema.String),
  createdAt: Timestamp
}).annotations({ identifier: "WebhookDelivery" })

const Replay = payload({
  deliveryId: Schema.optional(WebhookDeliveryId),
  since: Schema.optional(Timestamp).annotations({ description: "Start of a range of events" }),
  until: Schema.optional(Timestamp).annotations({ description: "End of the range; default: now" }),
  failedOnly: Schema.optional(Schema.Boolean).annotations({
    description: "Default: true. False includes delivered events"
  })
})

const path = Schema.Struct({ id: WebhookEndpointId })

const list = HttpApiEndpoint.get("list", "/api/webhooks/endpoints")
  .addSuccess(Schema.Struct({ endpoints: Schema.Array(EndpointView) }))
  .annotate(OpenApi.Summary, "List your webhook endpoints")
  .annotate(OpenApi.Description, "Newest first.")

const create = HttpApiEndpoint.post("create", "/api/webhooks/endpoints")
  .setPayload(
    payload({
      url: Schema.String.annotations({ description: "Public https address; redirects are not followed" }),
      events: Schema.NonEmptyArray(DomainEventKind),
      ordered: Schema.optionalWith(Schema.Boolean, { default: () => false }).annotations({
        description: "Whether to deliver one event at a time, in order: a failing delivery delays later ones"
      })
    })
  )
  .addSuccess(Schema.Struct({ ...endpointFields, secret }).annotations({ identifier: "CreatedWebhookEndpoint" }), {
    status: 201
  })
  .addError(WebhookUrlInvalidBody)
  .addError(AccountEventsNotAllowedBody)
  .addError(WebhookEndpointLimitReachedBody)
  .annotate(OpenApi.Summary, "Create a webhook endpoint")
  .annotate(
    OpenApi.Description,
    `Receives events of your agents; administrators also receive events of accounts (\`user.*\`). The secret is shown once. A user has at most ${maximumEndpointsPerUser} endpoints.`
  )

const remove = HttpApiEndpoint.del("remove", "/api/webhooks/endpoints/:id")
  .setPath(path)
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(WebhookEndpointNotFoundBody)
  .annotate(OpenApi.Summary, "Delete a webhook endpoint")
  .annotate(OpenApi.Description, "Deletes its secret and its deliveries too.")

const rotateSecret = HttpApiEndpoint.post("rotateSecret", "/api/webhooks/endpoints/:id/rotate-secret")
  .setPath(path)
  .addSuccess(Schema.Struct({ secret, previousValidUntil: Timestamp }))
  .addError(WebhookEndpointNotFoundBody)
  .annotate(OpenApi.Summary, "Replace the secret of a webhook endpoint")
  .annotate(OpenApi.Description, "For 24 hours, deliveries carry the signatures of both secrets.")

const enable = HttpApiEndpoint.post("enable", "/api/webhooks/endpoints/:id/enable")
  .setPath(path)
  .addSuccess(EndpointView)
  .addError(WebhookEndpointNotFoundBody)
  .annotate(OpenApi.Summary, "Enable a webhook endpoint again")
  .annotate(OpenApi.Description, "A replay sends the events missed while it was disabled.")

const deliveries = HttpApiEndpoint.get("deliveries", "/api/webhooks/endpoints/:id/deliveries")
  .setPath(path)
  .setUrlParams(pageQuery)
  .addSuccess(
    pageOf({
      deliveries: Schema.Array(DeliveryView)
    })
  )
  .addError(WebhookEndpointNotFoundBody)
  .annotate(OpenApi.Summary, "List the deliveries of a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "Newest event first, of the last 30 days. `id` is the header `webhook-id` of every attempt."
  )

const replay = HttpApiEndpoint.post("replay", "/api/webhooks/endpoints/:id/replay")
  .setPath(path)
  .setPayload(Replay)
  .addSuccess(Schema.Struct({ replayed: Schema.Int }), { status: 202 })
  .addError(WebhookEndpointNotFoundBody)
  .addError(WebhookDeliveryNotFoundBody)
  .addError(WebhookReplayIncompleteBody)
  .annotate(OpenApi.Summary, "Replay deliveries of a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "Repeats one delivery, or those events of a range that failed or that the endpoint missed while it was disabled. Every delivery keeps its id."
  )

export class WebhookEndpointsApi extends HttpApiGroup.make("webhookEndpoints")
  .add(list)
  .add(create)
  .add(remove)
  .add(rotateSecret)
  .add(enable)
  .add(deliveries)
  .add(replay)
  .middlewareEndpoints(SessionAuth)
  .addError(InternalFailureBody) {}
