import { Schema } from "effect"

const StringMap = Schema.Record({ key: Schema.String, value: Schema.String })
const OptionalMap = Schema.optionalWith(StringMap, { default: () => ({}) })
const optionalString = Schema.optionalWith(Schema.String, { default: () => "" })
const optionalInt = Schema.optionalWith(Schema.Int, { default: () => 0 })
const optionalList = <A, I>(item: Schema.Schema<A, I>) =>
  Schema.optionalWith(Schema.Array(item), { default: () => [], nullable: true })

/* Required members of the API's objects. */

const Metadata = Schema.Struct({
  name: Schema.String,
  uid: optionalString,
  resourceVersion: optionalString,
  labels: OptionalMap,
  annotations: OptionalMap,
  deletionTimestamp: Schema.optional(Schema.String)
})

const ContainerRunning = Schema.Struct({ startedAt: Schema.String })
const ContainerTerminated = Schema.Struct({
  exitCode: Schema.Int,
  reason: optionalString,
  message: optionalString
})
export type ContainerTerminated = typeof ContainerTerminated.Type
const ContainerWaiting = Schema.Struct({ reason: optionalString, message: optionalString })

const ContainerState = Schema.Struct({
  running: Schema.optional(ContainerRunning),
  terminated: Schema.optional(ContainerTerminated),
  waiting: Schema.optional(ContainerWaiting)
})

const ContainerStatus = Schema.Struct({
  name: Schema.String,
  containerID: optionalString,
  restartCount: Schema.Int,
  state: Schema.optionalWith(ContainerState, { default: () => ({}) }),
  lastState: Schema.optionalWith(ContainerState, { default: () => ({}) })
})

export const Pod = Schema.Struct({
  metadata: Metadata,
  status: Schema.optionalWith(
    Schema.Struct({
      phase: optionalString,
      reason: optionalString,
      message: optionalString,
      podIP: optionalString,
      conditions: optionalList(
        Schema.Struct({ type: Schema.String, status: Schema.String, reason: optionalString, message: optionalString })
      ),
      containerStatuses: optionalList(ContainerStatus)
    }),
    { default: () => ({ phase: "", reason: "", message: "", podIP: "", conditions: [], containerStatuses: [] }) }
  )
})
export type Pod = typeof Pod.Type

export const StatefulSet = Schema.Struct({
  metadata: Metadata,
  spec: Schema.Struct({
    replicas: optionalInt,
    template: Schema.Struct({
      metadata: Schema.Struct({ annotations: OptionalMap }),
      spec: Schema.Struct({ containers: Schema.Array(Schema.Struct({ image: Schema.String })) })
    })
  })
})
export type StatefulSet = typeof StatefulSet.Type

export const VolumeClaim = Schema.Struct({
  metadata: Metadata,
  spec: Schema.Struct({ resources: Schema.Struct({ requests: Schema.Struct({ storage: Schema.String }) }) }),
  status: Schema.optionalWith(Schema.Struct({ phase: optionalString }), { default: () => ({ phase: "" }) })
})
export type VolumeClaim = typeof VolumeClaim.Type

export const Event = Schema.Struct({ metadata: Metadata, message: optionalString })
export type Event = typeof Event.Type

export const listOf = <A, I>(item: Schema.Schema<A, I>) =>
  Schema.Struct({
    metadata: Schema.Struct({ resourceVersion: optionalString, continue: optionalString }),
    items: Schema.Array(item)
  })

/** Body of an error, and of the error event of a watch. */
export const Status = Schema.Struct({
  message: optionalString,
  reason: optionalString,
  code: optionalInt
})

export const WatchEvent = Schema.Struct({
  type: Schema.Literal("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"),
  object: Schema.Unknown
})

/** Object of every event except errors; a bookmark has only the resource version. */
export const WatchedObject = Schema.Struct({
  metadata: Schema.Struct({ name: optionalString, resourceVersion: Schema.String })
})

export const PodMetrics = Schema.Struct({
  metadata: Metadata,
  containers: Schema.Array(
    Schema.Struct({ name: Schema.String, usage: Schema.Struct({ cpu: Schema.String, memory: Schema.String }) })
  )
})
export type PodMetrics = typeof PodMetrics.Type
