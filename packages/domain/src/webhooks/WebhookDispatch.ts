import { DateTime, Effect, Option, Random, Tracer } from "effect"
import { AccountPolicy, isSyntheticEmail } from "../accounts/AccountPolicy.ts"
import { Administrators } from "../accounts/Administrators.ts"
import { Users } from "../accounts/Users.ts"
import { isForAdministrators } from "../events/DomainEvent.ts"
import { type MailDraft, MailOutbox } from "../mail/MailOutbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { type ClaimedDelivery, decideDelivery, type DeliveryResponse, encodeWebhookPayload } from "./WebhookDelivery.ts"
import { WebhookDeliveryRepository } from "./WebhookDeliveryRepository.ts"
import type { DisabledReason, WebhookEndpoint } from "./WebhookEndpoint.ts"
import { WebhookEndpointRepository } from "./WebhookEndpointRepository.ts"
import { WebhookReceiver } from "./WebhookReceiver.ts"
import { joinMailLines } from "../accounts/AccountMails.ts"
import type { Email } from "../shared/Email.ts"

const causes: Record<DisabledReason, string> = {
  gone: "The receiver responded with status 410 (Gone).",
  failing: "No delivery has succeeded for five days."
}

/** Omits the URL, whose path may contain a secret of the receiver. */
const composeEndpointDisabledMail = (
  to: Email,
  appUrl: URL,
  { id }: Pick<WebhookEndpoint, "id">,
  reason: DisabledReason
): MailDraft => ({
  to,
  subject: "A webhook endpoint was disabled",
  text: joinMailLines(
    `Your webhook endpoint ${id} at ${appUrl.host} receives no more events.`,
    "",
    causes[reason],
    "",
    `Enable it again by POST /api/webhooks/endpoints/${id}/enable, and send missed events by POST`,
    `/api/webhooks/endpoints/${id}/replay.`
  )
})

/** Attempts deliveries at least once, under a stable id. */
export class WebhookDispatch extends Effect.Service<WebhookDispatch>()("@berth/WebhookDispatch", {
  effect: Effect.gen(function* () {
    const endpoints = yield* WebhookEndpointRepository
    const deliveries = yield* WebhookDeliveryRepository
    const receiver = yield* WebhookReceiver
    const users = yield* Users
    const administrators = yield* Administrators
    const mails = yield* MailOutbox
    const transaction = yield* Transaction
    const policy = yield* AccountPolicy

    /** Access can be revoked after the creation of an endpoint. */
    const findRefusal = Effect.fnUntraced(function* ({ endpoint, event }: ClaimedDelivery) {
      const owner = yield* Effect.option(users.find(endpoint.userId))
      if (Option.isNone(owner) || owner.value.suspendedAt !== null) return "The account is suspended."
      return isForAdministrators(event.kind) && !administrators.includes(owner.value)
        ? "The owner is no administrator any more."
        : null
    })

    const post = Effect.fnUntraced(function* (claimed: ClaimedDelivery) {
      const now = yield* DateTime.now
      return yield* receiver
        .post(new URL(claimed.endpoint.url), {
          id: claimed.id,
          sentAt: now,
          body: encodeWebhookPayload(claimed),
          secrets: yield* endpoints.readSecrets(claimed.endpoint.id, now)
        })
        .pipe(
          Effect.map((status): DeliveryResponse => ({ status })),
          Effect.catchAll(({ reason }) => Effect.succeed<DeliveryResponse>({ failure: reason }))
        )
    })

    const disable = Effect.fnUntraced(function* (
      { endpoint }: ClaimedDelivery,
      reason: DisabledReason,
      now: DateTime.Utc
    ) {
      if (!(yield* endpoints.disable(endpoint.id, reason, now))) return
      const owner = yield* Effect.option(users.find(endpoint.userId))
      if (Option.isSome(owner) && !isSyntheticEmail(owner.value.email, policy))
        yield* mails.append(
          composeEndpointDisabledMail(owner.value.email, policy.appUrl, endpoint, reason),
          endpoint.userId
        )
      yield* Effect.logInfo("Webhook endpoint disabled").pipe(
        Effect.annotateLogs({ endpointId: endpoint.id, userId: endpoint.userId, reason })
      )
    })

    const run = Effect.fnUntraced(function* (claimed: ClaimedDelivery) {
      const refusal = yield* findRefusal(claimed)
      if (refusal !== null) {
        const now = yield* DateTime.now
        return yield* deliveries.recordFailed(claimed, { status: null, failure: refusal, retryAt: null, now })
      }
      const response = yield* post(claimed)
      const now = yield* DateTime.now
      const { attempt, endpoint } = claimed
      const outcome = decideDelivery(response, {
        attempt,
        failingSince: endpoint.failingSince,
        now,
        random: yield* Random.next
      })
      yield* Effect.annotateCurrentSpan({
        "webhook.outcome": outcome._tag,
        "http.response.status_code": outcome.status
      })
      if (outcome._tag === "Delivered")
        return yield* deliveries.recordDelivered(claimed, { status: outcome.status, now })
      const record = deliveries.recordFailed(claimed, { ...outcome, now })
      yield* outcome.disable === null
        ? record
        : transaction.run(Effect.zipRight(record, disable(claimed, outcome.disable, now)))
    })

    /** Sends a claimed delivery and records the outcome. */
    const attempt = (claimed: ClaimedDelivery) =>
      run(claimed).pipe(
        Effect.withSpan("WebhookDispatch.attempt", {
          kind: "producer",
          attributes: {
            "webhook.id": claimed.id,
            "webhook.endpoint.id": claimed.endpoint.id,
            "webhook.event": claimed.event.kind,
            "webhook.attempt": claimed.attempt
          },
          ...(claimed.trace === null ? { root: true } : { parent: Tracer.externalSpan(claimed.trace) })
        })
      )

    const claim = (limit: number) => Effect.flatMap(DateTime.now, (now) => deliveries.claim(limit, now))

    return { claim, attempt, awaitDue: deliveries.awaitDue }
  })
}) {}
