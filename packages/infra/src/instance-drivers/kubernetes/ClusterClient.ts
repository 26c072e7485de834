import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Duration, Effect, Option, Schedule, Schema, Stream } from "effect"
import type { ClusterConnection } from "./ClusterConnection.ts"
import {
  type ClusterError,
  ClusterResponseMalformed,
  ClusterUnreachable,
  ClusterUnresponsive,
  isClusterFault,
  toClusterError
} from "./ClusterErrors.ts"
import * as Models from "./ClusterModels.ts"

const callTimeout = Duration.seconds(10)
/** Duration after which the API server ends a watch; the next watch continues it. */
const watchSeconds = 240
const watchTimeout = Duration.seconds(watchSeconds + 15)
const maximumTextBytes = 16 * 1024 * 1024
const maximumLogLines = 20_000
const fieldManager = "berth"
const pageSize = 500
const longestRetryAfter = 5

/** Plural names of the required resources, with the prefixes of their API groups. */
const groups = {
  pods: "/api/v1",
  services: "/api/v1",
  secrets: "/api/v1",
  persistentvolumeclaims: "/api/v1",
  events: "/api/v1",
  statefulsets: "/apis/apps/v1",
  networkpolicies: "/apis/networking.k8s.io/v1",
  poddisruptionbudgets: "/apis/policy/v1"
} as const
type Resource = keyof typeof groups

type Query = Readonly<Record<string, string | number | boolean>>

interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  readonly path: string
  readonly query?: Query
  readonly body?: { readonly type: string; readonly value: object }
}

/** An object with its kind and name, in the API's format. */
interface Manifest {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata?: { readonly name?: string }
}

interface WatchedChange {
  readonly name: string
  readonly resourceVersion: string
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"
}

const decodeStatus = Schema.decodeUnknown(Models.Status)
const decodeWatchEvent = Schema.decodeUnknown(Schema.parseJson(Models.WatchEvent))
const decodeWatched = Schema.decodeUnknown(Models.WatchedObject)

/** Client of the required parts of the Kubernetes API. Every call has a timeout. */
export const make = ({ address, execute, namespace }: ClusterConnection) => {
  const operationOf = ({ method, path }: Call) => `${method} ${path}`

  const toRejected = (operation: string, response: HttpClientResponse.HttpClientResponse) =>
    response.json.pipe(
      Effect.flatMap(decodeStatus),
      Effect.match({ onSuccess: ({ message }) => message, onFailure: () => "no reason given" }),
      Effect.map((reason) =>
        toClusterError(operation, response.status, reason, Number(response.headers["retry-after"] ?? 1))
      )
    )

  const open = (call: Call): Effect.Effect<HttpClientResponse.HttpClientResponse, ClusterError> =>
    HttpClientRequest.make(call.method)(call.path).pipe(
      HttpClientRequest.setUrlParams(call.query ?? {}),
      HttpClientRequest.acceptJson,
      call.body === undefined
        ? (request) => request
        : HttpClientRequest.setBody(HttpBody.text(JSON.stringify(call.body.value), call.body.type)),
      execute,
      Effect.filterOrElse(
        ({ status }) => status < 300,
        (response) => Effect.flatMap(toRejected(operationOf(call), response), Effect.fail)
      )
    )

  const unresponsive = (call: Call, within: Duration.Duration) =>
    new ClusterUnresponsive({ address, operation: operationOf(call), within })

  /** Sends a call and reads the complete response. The timeout applies in uninterruptible regions too. */
  const sendOnce = <A>(
    call: Call,
    read: (response: HttpClientResponse.HttpClientResponse) => Effect.Effect<A, ClusterError>
  ): Effect.Effect<A, ClusterError> =>
    Effect.interruptible(Effect.flatMap(open(call), read)).pipe(
      Effect.timeoutFail({ duration: callTimeout, onTimeout: () => unresponsive(call, callTimeout) }),
      Effect.withTracerEnabled(false)
    )

  /** Conflicts and overload are transient. Every call except the creation of a pod is idempotent. */
  const isTransient = (error: ClusterError): boolean =>
    error._tag === "ClusterRequestRejected" && (error.status === 409 || isClusterFault(error))

  const send: typeof sendOnce = (call, read) =>
    call.method === "POST"
      ? sendOnce(call, read)
      : sendOnce(call, read).pipe(
          Effect.tapError((error) =>
            error._tag === "ClusterRequestRejected" && error.status === 429
              ? Effect.sleep(Duration.seconds(Math.min(longestRetryAfter, error.retryAfter)))
              : Effect.void
          ),
          Effect.retry({
            while: isTransient,
            schedule: Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(3))
          })
        )

  const json = <A, I>(schema: Schema.Schema<A, I>, call: Call): Effect.Effect<A, ClusterError> =>
    send(call, (response) =>
      response.json.pipe(
        Effect.flatMap(Schema.decodeUnknown(schema)),
        Effect.mapError(
          (error) => new ClusterResponseMalformed({ operation: operationOf(call), reason: error.message })
        )
      )
    )
  const done = (call: Call) => send(call, () => Effect.void)
  const text = (call: Call) =>
    send(call, (response) =>
      Effect.mapError(response.text, (error) => new ClusterUnreachable({ address, reason: error.message }))
    )

  /** None for a status of 404. */
  const optional = <A>(effect: Effect.Effect<A, ClusterError>): Effect.Effect<Option.Option<A>, ClusterError> =>
    Effect.asSome(effect).pipe(
      Effect.catchIf(
        (error) => error._tag === "ClusterRequestRejected" && error.status === 404,
        () => Effect.succeedNone
      )
    )

  const pathOf = (resource: Resource, name = "", subresource = "") =>
    [`${groups[resource]}/namespaces/${namespace}/${resource}`, name, subresource]
      .filter((part) => part !== "")
      .map((part, index) => (index === 0 ? part : encodeURIComponent(part)))
      .join("/")

  const get = <A, I>(schema: Schema.Schema<A, I>, resource: Resource, name: string) =>
    optional(json(schema, { method: "GET", path: pathOf(resource, name) }))

  const list = <A, I>(schema: Schema.Schema<A, I>, resource: Resource, query: Query) => {
    const readPages = (
      from: string,
      before: ReadonlyArray<A>
    ): Effect.Effect<{ readonly items: ReadonlyArray<A>; readonly resourceVersion: string }, ClusterError> =>
      Effect.flatMap(
        json(Models.listOf(schema), {
          method: "GET",
          path: pathOf(resource),
          query: { ...query, limit: pageSize, ...(from === "" ? {} : { continue: from }) }
        }),
        ({ items, metadata }) => {
          const all = [...before, ...items]
          return metadata.continue === ""
            ? Effect.succeed({ items: all, resourceVersion: metadata.resourceVersion })
            : readPages(metadata.continue, all)
        }
      )
    return readPages("", [])
  }

  return {
    address,
    namespace,
    /** Server-side apply that overrides changes of others. Idempotent. */
    apply: (resource: Resource, manifest: Manifest) =>
      done({
        method: "PATCH",
        path: pathOf(resource, manifest.metadata?.name),
        query: { fieldManager, force: true, fieldValidation: "Strict" },
        body: { type: "application/apply-patch+yaml", value: manifest }
      }),
    createPod: (manifest: Manifest) =>
      done({
        method: "POST",
        path: pathOf("pods"),
        query: { fieldManager, fieldValidation: "Strict" },
        body: { type: "application/json", value: manifest }
      }),
    /** False for an absent StatefulSet. */
    scale: (name: string, replicas: number) =>
      Effect.map(
        optional(
          done({
            method: "PATCH",
            path: pathOf("statefulsets", name, "scale"),
            query: { fieldManager },
            body: { type: "application/merge-patch+json", value: { spec: { replicas } } }
          })
        ),
        Option.isSome
      ),
    /** Idempotent. Returns before finalizers and dependents are removed. */
    remove: (resource: Resource, name: string) =>
      Effect.asVoid(
        optional(done({ method: "DELETE", path: pathOf(resource, name), query: { propagationPolicy: "Background" } }))
      ),
    getPod: (name: string) => get(Models.Pod, "pods", name),
    getStatefulSet: (name: string) => get(Models.StatefulSet, "statefulsets", name),
    getVolumeClaim: (name: string) => get(Models.VolumeClaim, "persistentvolumeclaims", name),
    listStatefulSets: (labelSelector: string) => list(Models.StatefulSet, "statefulsets", { labelSelector }),
    listPods: (labelSelector: string) => list(Models.Pod, "pods", { labelSelector }),
    listVolumeClaims: (labelSelector: string) => list(Models.VolumeClaim, "persistentvolumeclaims", { labelSelector }),
    /** Lists warnings about an object. */
    listWarnings: (kind: string, name: string) =>
      Effect.map(
        list(Models.Event, "events", {
          fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name},type=Warning`
        }),
        ({ items }) => items
      ),
    /** Reads the log of a container's current or previous run; none without a log. */
    readLog: (pod: string, container: string, previous = false) =>
      text({
        method: "GET",
        path: pathOf("pods", pod, "log"),
        // The byte limit truncates the end, the line limit the beginning.
        query: { container, previous, tailLines: maximumLogLines, limitBytes: maximumTextBytes }
      }).pipe(
        Effect.asSome,
        Effect.catchIf(
          // 400: the container has not started, or has no previous run.
          (error) => error._tag === "ClusterRequestRejected" && (error.status === 404 || error.status === 400),
          () => Effect.succeedNone
        )
      ),
    /** None without a metrics server, or before its first sample. */
    readMetrics: (pod: string) =>
      optional(
        json(Models.PodMetrics, {
          method: "GET",
          path: `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${encodeURIComponent(pod)}`
        })
      ),
    /** Lists metrics of all pods with a sample. */
    listMetrics: (labelSelector: string) =>
      Effect.map(
        json(Models.listOf(Models.PodMetrics), {
          method: "GET",
          path: `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`,
          query: { labelSelector }
        }),
        ({ items }) => items
      ),
    /**
     * Streams changes of pods after a resource version. Ends with the connection. An expired version fails with status
     * 410.
     */
    watchPods: (labelSelector: string, resourceVersion: string): Stream.Stream<WatchedChange, ClusterError> => {
      const call: Call = {
        method: "GET",
        path: pathOf("pods"),
        query: {
          labelSelector,
          resourceVersion,
          watch: true,
          allowWatchBookmarks: true,
          timeoutSeconds: watchSeconds
        }
      }
      const operation = operationOf(call)
      const malformed = ({ message }: { readonly message: string }) =>
        new ClusterResponseMalformed({ operation, reason: message })
      return open(call).pipe(
        Effect.timeoutFail({ duration: callTimeout, onTimeout: () => unresponsive(call, callTimeout) }),
        Effect.withTracerEnabled(false),
        Effect.map(({ stream }) => stream),
        Stream.unwrap,
        Stream.mapError((error) =>
          error._tag === "ResponseError" ? new ClusterUnreachable({ address, reason: error.message }) : error
        ),
        // In case of a silently lost connection.
        Stream.interruptAfter(watchTimeout),
        Stream.decodeText(),
        Stream.splitLines,
        Stream.filter((line) => line !== ""),
        Stream.mapEffect((line) =>
          Effect.gen(function* () {
            const { object, type } = yield* Effect.mapError(decodeWatchEvent(line), malformed)
            if (type === "ERROR") {
              const { code, message } = yield* Effect.mapError(decodeStatus(object), malformed)
              return yield* Effect.fail(toClusterError(operation, code, message, 1))
            }
            const { metadata } = yield* Effect.mapError(decodeWatched(object), malformed)
            return { ...metadata, type }
          })
        )
      )
    }
  }
}
export type ClusterClient = ReturnType<typeof make>
