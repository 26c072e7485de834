import { DateTime, Effect } from "effect"
import { AccountPolicy } from "../accounts/AccountPolicy.ts"
import { Administrators } from "../accounts/Administrators.ts"
import { type DomainEventKind, isForAdministrators } from "../events/DomainEvent.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Tokens } from "../secrets/Tokens.ts"
import type { User } from "../shared/User.ts"
import { WebhookDeliveryRepository } from "./WebhookDeliveryRepository.ts"
import {
  makeWebhookSecret,
  maximumEndpointsPerUser,
  parseWebhookUrl,
  secretOverlap,
  type WebhookDeliveryId,
  type WebhookEndpoint,
  WebhookEndpointId
} from "./WebhookEndpoint.ts"
import { WebhookEndpointRepository } from "./WebhookEndpointRepository.ts"
import {
  AccountEventsNotAllowed,
  WebhookDeliveryNotFound,
  WebhookEndpointLimitReached,
  WebhookEndpointNotFound,
  WebhookReplayIncomplete
} from "./WebhookErrors.ts"

interface ReplayRequest {
  readonly deliveryId?: WebhookDeliveryId | undefined
  readonly since?: DateTime.Utc | undefined
  /** Default: now. */
  readonly until?: DateTime.Utc | undefined
  readonly failedOnly?: boolean | undefined
}

/** Addresses that receive a user's events, and their deliveries. */
export class WebhookEndpoints extends Effect.Service<WebhookEndpoints>()("@berth/WebhookEndpoints", {
  effect: Effect.gen(function* () {
    const endpoints = yield* WebhookEndpointRepository
    const deliveries = yield* WebhookDeliveryRepository
    const administrators = yield* Administrators
    const { appUrl } = yield* AccountPolicy
    const transaction = yield* Transaction
    const tokens = yield* Tokens
    const ids = yield* IdGenerator

    const find = Effect.fnUntraced(function* (user: User, id: WebhookEndpointId) {
      return yield* Effect.mapError(yield* endpoints.findOwned(user.id, id), () => new WebhookEndpointNotFound())
    })

    /** Returns the secret, which is not shown again. */
    const create = Effect.fn("WebhookEndpoints.create")(function* (
      user: User,
      draft: { readonly url: string; readonly kinds: ReadonlyArray<DomainEventKind>; readonly isOrdered: boolean }
    ) {
      const url = yield* parseWebhookUrl(draft.url, { httpsOnly: appUrl.protocol === "https:" })
      if (draft.kinds.some(isForAdministrators) && !administrators.includes(user))
        return yield* new AccountEventsNotAllowed()
      const secret = makeWebhookSecret(yield* tokens.make)
      const endpoint: WebhookEndpoint = {
        id: WebhookEndpointId.make(yield* ids.next("whe")),
        userId: user.id,
        url: url.href,
        kinds: [...new Set(draft.kinds)],
        isOrdered: draft.isOrdered,
        failingSince: null,
        disabledAt: null,
        disabledReason: null,
        createdAt: yield* DateTime.now
      }
      const isInserted = yield* endpoints.insert(endpoint, secret, maximumEndpointsPerUser)
      if (!isInserted) return yield* new WebhookEndpointLimitReached({ limit: maximumEndpointsPerUser })
      yield* Effect.logInfo("Webhook endpoint created").pipe(
        Effect.annotateLogs({ userId: user.id, endpointId: endpoint.id, kinds: endpoint.kinds.join(" ") })
      )
      return { endpoint, secret }
    })

    const list = Effect.fn("WebhookEndpoints.list")((user: User) => endpoints.listOwned(user.id))

    const remove = Effect.fn("WebhookEndpoints.remove")(function* (user: User, id: WebhookEndpointId) {
      if (!(yield* endpoints.removeOwned(user.id, id))) return yield* new WebhookEndpointNotFound()
    })

    /** Deliveries carry both signatures for `secretOverlap`. Returns the new secret and the expiry of the old one. */
    const rotateSecret = Effect.fn("WebhookEndpoints.rotateSecret")(function* (user: User, id: WebhookEndpointId) {
      const endpoint = yield* find(user, id)
      const secret = makeWebhookSecret(yield* tokens.make)
      const previousValidUntil = DateTime.addDuration(yield* DateTime.now, secretOverlap)
      yield* transaction.run(endpoints.replaceSecret(endpoint.id, secret, previousValidUntil))
      return { secret, previousValidUntil }
    })

    /** Idempotent. A replay sends the events since deliveries stopped. */
    const enable = Effect.fn("WebhookEndpoints.enable")(function* (user: User, id: WebhookEndpointId) {
      const endpoint = yield* find(user, id)
      yield* endpoints.enable(endpoint.id)
      return { ...endpoint, failingSince: null, disabledAt: null, disabledReason: null }
    })

    const listDeliveries = Effect.fn("WebhookEndpoints.listDeliveries")(function* (
      user: User,
      id: WebhookEndpointId,
      page: { readonly limit: number; readonly offset: number }
    ) {
      return yield* deliveries.list((yield* find(user, id)).id, page)
    })

    /**
     * Repeats one delivery, or the events of a range, each under its id. Returns their number. The range includes
     * failed deliveries and missed events; with `failedOnly: false`, all events.
     */
    const replay = Effect.fn("WebhookEndpoints.replay")(function* (
      user: User,
      id: WebhookEndpointId,
      { deliveryId, failedOnly = true, since, until }: ReplayRequest
    ) {
      const endpoint = yield* find(user, id)
      const now = yield* DateTime.now
      if (deliveryId !== undefined) {
        if (!(yield* deliveries.replay(endpoint.id, deliveryId, now))) return yield* new WebhookDeliveryNotFound()
        return 1
      }
      if (since === undefined) return yield* new WebhookReplayIncomplete()
      return yield* deliveries.replayRange(endpoint, { since, until: until ?? now, failedOnly }, now)
    })

    return { create, list, remove, rotateSecret, enable, listDeliveries, replay }
  })
}) {}
