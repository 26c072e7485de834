import { Effect, Either } from "effect"
import { AccountPolicy } from "../../accounts/AccountPolicy.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { parseWebhookUrl } from "../../webhooks/WebhookEndpoint.ts"
import type { A2aPeer } from "./A2aPeers.ts"
import { A2aTaskId } from "./A2aTask.ts"
import { A2aRequestInvalid, PushNotificationNotFound } from "./A2aTaskErrors.ts"
import { A2aTasks } from "./A2aTasks.ts"
import { maximumNotificationsPerTask, type NewPushNotification, type PushNotification } from "./PushNotification.ts"
import { PushNotificationRepository } from "./PushNotificationRepository.ts"

/** Addresses that receive the end of a task. */
export class PushNotifications extends Effect.Service<PushNotifications>()("@berth/PushNotifications", {
  effect: Effect.gen(function* () {
    const tasks = yield* A2aTasks
    const repository = yield* PushNotificationRepository
    const ids = yield* IdGenerator
    const { appUrl } = yield* AccountPolicy

    /** The network of the address is checked at each connection. */
    const validate = ({ url }: Pick<NewPushNotification, "url">) =>
      Either.mapBoth(parseWebhookUrl(url, { httpsOnly: appUrl.protocol === "https:" }), {
        onLeft: ({ reason }) => new A2aRequestInvalid({ reason }),
        onRight: ({ href }) => href
      })

    const create = Effect.fn("PushNotifications.create")(function* (
      peer: A2aPeer,
      taskId: string,
      configuration: NewPushNotification
    ) {
      const task = yield* tasks.get(peer, A2aTaskId.make(taskId))
      const url = yield* validate(configuration)
      const notification: PushNotification = {
        ...configuration,
        url,
        taskId: task.id,
        id: configuration.id ?? (yield* ids.next("psh"))
      }
      if (!(yield* repository.store(notification, maximumNotificationsPerTask)))
        return yield* new A2aRequestInvalid({
          reason: `A task has at most ${maximumNotificationsPerTask} push notification configurations.`
        })
      return notification
    })

    const list = Effect.fn("PushNotifications.list")(function* (peer: A2aPeer, taskId: string) {
      return yield* repository.list((yield* tasks.get(peer, A2aTaskId.make(taskId))).id)
    })

    const get = Effect.fn("PushNotifications.get")(function* (peer: A2aPeer, taskId: string, id: string) {
      const task = yield* tasks.get(peer, A2aTaskId.make(taskId))
      return yield* Effect.mapError(yield* repository.find(task.id, id), () => new PushNotificationNotFound())
    })

    /** Idempotent. */
    const remove = Effect.fn("PushNotifications.remove")(function* (peer: A2aPeer, taskId: string, id: string) {
      yield* repository.remove((yield* tasks.get(peer, A2aTaskId.make(taskId))).id, id)
    })

    return { validate, create, list, get, remove }
  })
}) {}
