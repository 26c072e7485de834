import { a2aMediaType, A2aMethodNotFound, a2aVersion } from "@berth/api/a2a/tasks/A2aErrorBodies"
import { CurrentA2aPeer } from "@berth/api/a2a/tasks/A2aTasksApi"
import { SendMessageParams } from "@berth/api/a2a/tasks/A2aWire"
import { WebApi } from "@berth/api/WebApi"
import type { A2aPeer } from "@berth/domain/a2a/tasks/A2aPeers"
import { A2aVersionUnsupported } from "@berth/domain/a2a/tasks/A2aTaskErrors"
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, type Stream } from "effect"
import { makeDecoder } from "../../gateway/CallContent.ts"
import { group } from "../../http/ApiGroup.ts"
import { withInteractionRetryAfter } from "../../interaction/AnswerResponse.ts"
import { makeA2aOperations } from "./A2aOperations.ts"
import { addRequestId, answerRpc, readRpcRequest } from "./A2aRpc.ts"
import { respondTaskEvents, type TaskEvent } from "./TaskStreams.ts"

/** Section 3.6 of the protocol: a request without a version has version 0.3, and patch versions are ignored. */
const requireVersion = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, url }) => {
  const query = new URL(url, "http://localhost").searchParams.get("A2A-Version")
  const requested = (headers["a2a-version"] ?? query ?? "").trim()
  return requested.replace(/^(\d+\.\d+)\.\d+$/, "$1") === a2aVersion
    ? Effect.void
    : new A2aVersionUnsupported({ requested })
})

const respond = <E, R>(body: Effect.Effect<unknown, E, R>) =>
  Effect.map(body, (value) => HttpServerResponse.unsafeJson(value, { contentType: a2aMediaType }))
const respondStream = <E, R>(events: Effect.Effect<Stream.Stream<TaskEvent>, E, R>) =>
  respondTaskEvents(events, (event) => event)

/** Answers a request of the supported version. */
const answer = <E, R>(operation: (peer: A2aPeer) => Effect.Effect<unknown, E, R>) =>
  Effect.flatMap(Effect.zipRight(requireVersion, CurrentA2aPeer), (peer) => respond(operation(peer)))

/** Used after the check of the operation, since the platform would decode before it. */
const decodeSendMessageParams = makeDecoder(SendMessageParams)

/** Splits the last path segment into task and operation: `<id>` or `<id>:<operation>`. */
const splitOperation = (segment: string) => {
  const colon = segment.lastIndexOf(":")
  return colon === -1
    ? { id: segment, operation: undefined }
    : { id: segment.slice(0, colon), operation: segment.slice(colon + 1) }
}

export const layer = group(WebApi, "a2aTasks", (handlers) =>
  Effect.gen(function* () {
    const operations = yield* makeA2aOperations

    /** Executes an operation named after the id of a task in the path. */
    const operate = Effect.fnUntraced(function* (peer: A2aPeer, { id, operation }: ReturnType<typeof splitOperation>) {
      if (operation !== "subscribe") return yield* new A2aMethodNotFound()
      return yield* respondStream(operations.subscribe(peer, { id }))
    })

    return handlers
      .handle("rpc", ({ payload }) =>
        Effect.gen(function* () {
          const request = yield* readRpcRequest(payload)
          yield* requireVersion
          return yield* answerRpc(operations, yield* CurrentA2aPeer, request)
        }).pipe(
          withInteractionRetryAfter,
          Effect.tapError(() => addRequestId(payload["id"]))
        )
      )
      .handleRaw("send", ({ path: { operation }, request }) =>
        Effect.gen(function* () {
          yield* requireVersion
          const peer = yield* CurrentA2aPeer
          if (operation !== "message:send" && operation !== "message:stream") return yield* new A2aMethodNotFound()
          const params = yield* decodeSendMessageParams(yield* Effect.orDie(request.json))
          return operation === "message:send"
            ? yield* respond(operations.send(peer, params))
            : yield* respondStream(operations.stream(peer, params))
        }).pipe(withInteractionRetryAfter)
      )
      .handle("list", ({ urlParams }) => answer((peer) => operations.list(peer, urlParams)))
      .handle("find", ({ path, urlParams: { historyLength } }) =>
        Effect.gen(function* () {
          yield* requireVersion
          const peer = yield* CurrentA2aPeer
          const named = splitOperation(path.taskId)
          if (named.operation !== undefined) return yield* operate(peer, named)
          return yield* respond(operations.get(peer, { id: named.id, historyLength }))
        })
      )
      .handle("change", ({ path }) =>
        Effect.gen(function* () {
          yield* requireVersion
          const peer = yield* CurrentA2aPeer
          const named = splitOperation(path.taskId)
          if (named.operation !== "cancel") return yield* operate(peer, named)
          return yield* respond(operations.cancel(peer, { id: named.id }))
        })
      )
      .handle("createNotification", ({ path: { taskId }, payload }) =>
        Effect.map(
          answer((peer) => operations.createNotification(peer, taskId, payload)),
          HttpServerResponse.setStatus(201)
        )
      )
      .handle("listNotifications", ({ path: { taskId }, urlParams }) =>
        answer((peer) => operations.listNotifications(peer, taskId, urlParams))
      )
      .handle("findNotification", ({ path: { notificationId, taskId } }) =>
        answer((peer) => operations.findNotification(peer, taskId, notificationId))
      )
      .handle("removeNotification", ({ path: { notificationId, taskId } }) =>
        answer((peer) => Effect.as(operations.removeNotification(peer, taskId, notificationId), {}))
      )
      .handle("extendedCard", () => answer((peer) => operations.card(peer, { all: true })))
  })
)
