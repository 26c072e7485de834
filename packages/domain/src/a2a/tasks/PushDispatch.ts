import { DateTime, Duration, Effect, Option, Random } from "effect"
import { findRetryPause } from "../../webhooks/WebhookDelivery.ts"
import { WebhookReceiver } from "../../webhooks/WebhookReceiver.ts"
import { isSenderAllowed } from "../A2aAccess.ts"
import { type ClaimedPush, makePushHeaders, makePushId, makePushSecret } from "./PushNotification.ts"
import { PushNotificationRepository } from "./PushNotificationRepository.ts"
import { presentTaskEvent } from "./TaskPresentation.ts"

/** Maximum concurrent notifications of a caller, so that slow receivers leave room for other callers. */
const maximumInFlightPerCaller = 2
/** Longer than an attempt. Another worker repeats an attempt whose worker died. */
const claimDuration = Duration.minutes(1)
/** Attempts of a notification, over several hours. */
const maximumAttempts = 5

/** Sends the ends of tasks to the addresses of their callers. At-least-once, under a stable id. */
export class PushDispatch extends Effect.Service<PushDispatch>()("@berth/PushDispatch", {
  effect: Effect.gen(function* () {
    const repository = yield* PushNotificationRepository
    const receiver = yield* WebhookReceiver

    const findRetry = Effect.fnUntraced(function* (attempt: number) {
      const pause = attempt < maximumAttempts ? findRetryPause(attempt, yield* Random.next) : undefined
      return pause === undefined ? null : DateTime.addDuration(yield* DateTime.now, pause)
    })

    /** Sends a claimed notification and records the outcome. */
    const attempt = Effect.fn("PushDispatch.attempt")(function* (claimed: ClaimedPush) {
      const { notification, task } = claimed
      yield* Effect.annotateCurrentSpan({ "a2a.task": task.id, "webhook.attempt": claimed.attempt })
      const access = yield* repository.findAccess(task)
      // Access can be revoked after the configuration of the notification.
      if (Option.isNone(access) || !isSenderAllowed(access.value.receiver, access.value.sender))
        return yield* repository.record(claimed, { failure: "The caller may not communicate.", retryAt: null })
      const outcome = yield* receiver
        .post(new URL(notification.url), {
          id: makePushId(notification),
          sentAt: yield* DateTime.now,
          body: JSON.stringify(presentTaskEvent(task)),
          secrets: notification.token === null ? [] : [makePushSecret(notification.token)],
          headers: { "content-type": "application/a2a+json", ...makePushHeaders(notification) }
        })
        .pipe(Effect.either)
      const failure =
        outcome._tag === "Left"
          ? outcome.left.reason
          : outcome.right >= 200 && outcome.right < 300
            ? undefined
            : `status ${outcome.right}`
      yield* repository.record(
        claimed,
        failure === undefined ? "delivered" : { failure, retryAt: yield* findRetry(claimed.attempt) }
      )
    })

    const claim = (limit: number) =>
      Effect.flatMap(DateTime.now, (now) =>
        repository.claim(
          { total: limit, perCaller: maximumInFlightPerCaller },
          now,
          DateTime.addDuration(now, claimDuration)
        )
      )

    return { claim, attempt }
  })
}) {}
