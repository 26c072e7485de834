import { WebApi } from "@berth/api/WebApi"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import type { WebhookDelivery } from "@berth/domain/webhooks/WebhookDelivery"
import type { WebhookEndpoint } from "@berth/domain/webhooks/WebhookEndpoint"
import { WebhookEndpoints } from "@berth/domain/webhooks/WebhookEndpoints"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addResponseHeaders, privately } from "../http/ResponseHeaders.ts"

const presentEndpoint = ({ disabledReason, failingSince, id, createdAt, isOrdered, kinds, url }: WebhookEndpoint) => ({
  id,
  url,
  events: kinds,
  ordered: isOrdered,
  status: disabledReason === null ? ("enabled" as const) : ("disabled" as const),
  disabledReason,
  failingSince,
  createdAt
})

const presentDelivery = ({ attemptedAt, dueAt, kind, ...delivery }: WebhookDelivery) => ({
  ...delivery,
  type: kind,
  nextAttemptAt: delivery.status === "pending" ? dueAt : null,
  lastAttemptAt: attemptedAt
})

export const layer = group(WebApi, "webhookEndpoints", (handlers) =>
  Effect.gen(function* () {
    const endpoints = yield* WebhookEndpoints
    const caller = Effect.map(CurrentUser, ({ user }) => user)

    return handlers
      .handle("list", () =>
        Effect.gen(function* () {
          return { endpoints: (yield* endpoints.list(yield* caller)).map(presentEndpoint) }
        })
      )
      .handle("create", ({ payload: { events, ordered, url } }) =>
        Effect.gen(function* () {
          const { endpoint, secret } = yield* endpoints.create(yield* caller, {
            url,
            kinds: events,
            isOrdered: ordered
          })
          yield* addResponseHeaders(privately)
          return { ...presentEndpoint(endpoint), secret }
        })
      )
      .handle("remove", ({ path: { id } }) =>
        Effect.gen(function* () {
          yield* endpoints.remove(yield* caller, id)
          return { success: true }
        })
      )
      .handle("rotateSecret", ({ path: { id } }) =>
        Effect.gen(function* () {
          const rotated = yield* endpoints.rotateSecret(yield* caller, id)
          yield* addResponseHeaders(privately)
          return rotated
        })
      )
      .handle("enable", ({ path: { id } }) =>
        Effect.gen(function* () {
          return presentEndpoint(yield* endpoints.enable(yield* caller, id))
        })
      )
      .handle("deliveries", ({ path: { id }, urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { deliveries, total } = yield* endpoints.listDeliveries(yield* caller, id, { limit, offset })
          return { deliveries: deliveries.map(presentDelivery), total, limit, offset }
        })
      )
      .handle("replay", ({ path: { id }, payload }) =>
        Effect.gen(function* () {
          return { replayed: yield* endpoints.replay(yield* caller, id, payload) }
        })
      )
  })
)
