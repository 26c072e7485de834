import {
  nonEmpty,
  type ListTasksParams,
  type NotificationsPage,
  type PushNotificationConfig,
  type SendMessageParams
} from "@berth/api/a2a/tasks/A2aWire"
import { makeAgentCard } from "@berth/api/a2a/tasks/AgentCard"
import { type A2aPeer, A2aPeers } from "@berth/domain/a2a/tasks/A2aPeers"
import { A2aTaskId, formatPageToken, parsePageToken } from "@berth/domain/a2a/tasks/A2aTask"
import { A2aRequestInvalid } from "@berth/domain/a2a/tasks/A2aTaskErrors"
import { A2aTasks } from "@berth/domain/a2a/tasks/A2aTasks"
import type { NewPushNotification, PushNotification } from "@berth/domain/a2a/tasks/PushNotification"
import { PushNotifications } from "@berth/domain/a2a/tasks/PushNotifications"
import { findTaskState, presentTask } from "@berth/domain/a2a/tasks/TaskPresentation"
import { Effect, Option, Redacted } from "effect"
import { WebSettings } from "../../http/WebSettings.ts"
import { readTaskMessage } from "./ReceivedTaskMessage.ts"
import { lastReceivedEvent, streamTask } from "./TaskStreams.ts"

interface TaskCall {
  readonly id: string
  readonly historyLength?: number | undefined
}

const usualPageSize = 50
const makePageTokenError = () => new A2aRequestInvalid({ reason: "`pageToken` must be the `nextPageToken` of a page." })

type NotificationParams = Pick<PushNotificationConfig, "id" | "url" | "token" | "authentication">

const hide = (secret: string | undefined) => {
  const text = nonEmpty(secret)
  return text === undefined ? null : Redacted.make(text)
}

const readNotification = ({ authentication, id, token, url }: NotificationParams): NewPushNotification => ({
  id: nonEmpty(id),
  url,
  token: hide(token),
  authentication:
    authentication === undefined
      ? null
      : { scheme: authentication.scheme, credentials: hide(authentication.credentials) }
})

/** Omits the credentials. */
const presentNotification = ({ authentication, id, taskId, token, url }: PushNotification) => ({
  id,
  taskId,
  url,
  ...(token === null ? {} : { token: Redacted.value(token) }),
  ...(authentication === null ? {} : { authentication: { scheme: authentication.scheme } })
})

/** Operations of the A2A protocol, shared by both bindings. */
export const makeA2aOperations = Effect.gen(function* () {
  const tasks = yield* A2aTasks
  const notifications = yield* PushNotifications
  const peers = yield* A2aPeers
  const { appUrl, serviceVersion } = yield* WebSettings

  /** Stores the request's notification before the caller waits for the task. */
  const begin = Effect.fnUntraced(function* (peer: A2aPeer, params: SendMessageParams) {
    const message = yield* readTaskMessage(params)
    const config = params.configuration?.taskPushNotificationConfig
    const notification = config === undefined ? undefined : readNotification(config)
    if (notification !== undefined) yield* notifications.validate(notification)
    const followed = yield* tasks.send(peer, message)
    if (notification !== undefined) {
      const { id } = followed.task
      // The same id at every repetition of the message.
      yield* notifications.create(peer, id, { ...notification, id: notification.id ?? id })
    }
    return followed
  })

  return {
    card: (peer: A2aPeer, { all }: { readonly all: boolean }) =>
      Effect.map(peers.listSkills(peer, { all }), (skills) =>
        makeAgentCard(peer.agent, skills, { appUrl, version: serviceVersion })
      ),
    send: Effect.fnUntraced(function* (peer: A2aPeer, params: SendMessageParams) {
      const followed = yield* begin(peer, params)
      const { historyLength, returnImmediately = false } = params.configuration ?? {}
      const task = returnImmediately ? followed.task : yield* tasks.awaitEnd(peer, followed)
      return { task: presentTask(task, { historyLength }) }
    }),
    stream: Effect.fnUntraced(function* (peer: A2aPeer, params: SendMessageParams) {
      return streamTask(tasks, peer, yield* begin(peer, params), yield* lastReceivedEvent)
    }),
    subscribe: Effect.fnUntraced(function* (peer: A2aPeer, { id }: TaskCall) {
      const last = yield* lastReceivedEvent
      return streamTask(tasks, peer, yield* tasks.subscribe(peer, A2aTaskId.make(id), last), last)
    }),
    get: (peer: A2aPeer, { historyLength, id }: TaskCall) =>
      Effect.map(tasks.get(peer, A2aTaskId.make(id)), (task) => presentTask(task, { historyLength })),
    cancel: (peer: A2aPeer, { id }: TaskCall) =>
      Effect.map(tasks.cancel(peer, A2aTaskId.make(id)), (task) => presentTask(task)),
    createNotification: (peer: A2aPeer, taskId: string, params: NotificationParams) =>
      Effect.map(notifications.create(peer, taskId, readNotification(params)), presentNotification),
    findNotification: (peer: A2aPeer, taskId: string, id: string) =>
      Effect.map(notifications.get(peer, taskId, id), presentNotification),
    /** A page token is the id of the next page's first configuration: those before it can be removed. */
    listNotifications: Effect.fnUntraced(function* (peer: A2aPeer, taskId: string, page: NotificationsPage) {
      const { pageSize = 0 } = page
      const all = yield* notifications.list(peer, taskId)
      const token = nonEmpty(page.pageToken)
      const begin = token === undefined ? 0 : all.findIndex(({ id }) => id === token)
      if (begin === -1) return yield* makePageTokenError()
      const end = pageSize === 0 ? all.length : begin + pageSize
      return { configs: all.slice(begin, end).map(presentNotification), nextPageToken: all[end]?.id ?? "" }
    }),
    removeNotification: (peer: A2aPeer, taskId: string, id: string) => notifications.remove(peer, taskId, id),
    list: Effect.fnUntraced(function* (peer: A2aPeer, params: ListTasksParams) {
      const { historyLength, includeArtifacts = false, pageSize = usualPageSize } = params
      const status = nonEmpty(params.status)
      const isAny = status === undefined || status === "TASK_STATE_UNSPECIFIED"
      const state = isAny ? undefined : findTaskState(status)
      const token = nonEmpty(params.pageToken)
      const after = yield* Effect.mapError(
        Effect.transposeMapOption(Option.fromNullable(token), parsePageToken),
        makePageTokenError
      )
      const { tasks: found, total } =
        isAny || state !== undefined
          ? yield* tasks.list(peer, {
              contextId: nonEmpty(params.contextId),
              state,
              since: params.statusTimestampAfter,
              after: Option.getOrUndefined(after),
              limit: pageSize + 1
            })
          : { tasks: [], total: 0 }
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        tasks: page.map((task) => presentTask(task, { historyLength, includeArtifacts })),
        nextPageToken: last === undefined || found.length <= pageSize ? "" : formatPageToken(last),
        pageSize,
        totalSize: total
      }
    })
  }
})
export type A2aOperations = Effect.Effect.Success<typeof makeA2aOperations>
