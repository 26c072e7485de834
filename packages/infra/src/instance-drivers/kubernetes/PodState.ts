import { Data, Option } from "effect"
import type { ContainerEnd } from "../ProcessExit.ts"
import { runtimePort } from "../RuntimeImage.ts"
import type { ContainerTerminated, Pod, PodMetrics } from "./ClusterModels.ts"
import { containerName } from "./InstanceManifests.ts"

/** State of an instance's pod for the driver's decisions. */
export type PodState = Data.TaggedEnum<{
  /** Scheduling, pulling or mounting is in progress. */
  Starting: { readonly problem: string }
  /** The pod cannot start until an external change. */
  Blocked: { readonly problem: string }
  Running: { readonly endpoint: string; readonly startedAt: string; readonly containerId: string }
  /** `isPrevious`: the kubelet has started another run, so the log of the ended run is the previous one. */
  Ended: { readonly end: ContainerEnd; readonly isPrevious: boolean }
  /** Deleted, within its grace period. */
  Terminating: {}
}>
export const PodState = Data.taggedEnum<PodState>()

const imageProblems = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError"
])
const configurationProblems = new Set(["CreateContainerConfigError", "CreateContainerError", "RunContainerError"])

const toContainerEnd = ({ exitCode, message, reason }: ContainerTerminated): ContainerEnd => ({
  exitCode,
  isOutOfMemory: reason === "OOMKilled",
  error: reason === "Error" || reason === "Completed" ? "" : message
})

const describeWaiting = (reason: string, message: string): string => (message === "" ? reason : `${reason}: ${message}`)

export const readPodState = ({ metadata, status }: Pod): PodState => {
  if (metadata.deletionTimestamp !== undefined) return PodState.Terminating()
  const container = status.containerStatuses.find(({ name }) => name === containerName)
  const terminated = container?.state.terminated ?? container?.lastState.terminated
  if (container?.state.running !== undefined && status.podIP !== "")
    return PodState.Running({
      endpoint: `http://${status.podIP.includes(":") ? `[${status.podIP}]` : status.podIP}:${runtimePort}`,
      startedAt: container.state.running.startedAt,
      containerId: container.containerID
    })
  if (terminated !== undefined)
    return PodState.Ended({
      end: toContainerEnd(terminated),
      isPrevious: container?.state.terminated === undefined
    })
  // Evicted or rejected by the kubelet, before or after its container ran.
  if (status.phase === "Failed")
    return PodState.Ended({
      end: { exitCode: -1, isOutOfMemory: false, error: describeWaiting(status.reason, status.message) },
      isPrevious: false
    })
  const { message = "", reason = "" } = container?.state.waiting ?? {}
  if (imageProblems.has(reason))
    return PodState.Blocked({
      problem: `its image cannot be pulled (${describeWaiting(reason, message)}). Check RUNTIME_IMAGE and the pull secrets of the namespace`
    })
  if (configurationProblems.has(reason)) return PodState.Blocked({ problem: describeWaiting(reason, message) })
  const unscheduled = status.conditions.find(({ status: value, type }) => type === "PodScheduled" && value === "False")
  return PodState.Starting({
    problem: unscheduled === undefined ? describeWaiting(reason, message) : unscheduled.message
  })
}

const cpuScales: Readonly<Record<string, number>> = { n: 1e-7, u: 1e-4, m: 0.1, "": 100 }
export const byteScales: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3
}

/** Parses a quantity of the API in the unit of the scales; null for an unknown unit. */
export const parseQuantity = (text: string, scales: Readonly<Record<string, number>>): number | null => {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? []
  const scale = scales[unit]
  return number === undefined || scale === undefined ? null : Number(number) * scale
}

/** Returns the latest figures of an instance's container from the metrics server. */
export const readPodFigures = ({ containers }: Pick<PodMetrics, "containers">) =>
  Option.map(Option.fromNullable(containers.find(({ name }) => name === containerName)), ({ usage }) => {
    const bytes = parseQuantity(usage.memory, byteScales)
    return {
      cpuPercent: parseQuantity(usage.cpu, cpuScales),
      memoryBytes: bytes === null ? null : Math.round(bytes)
    }
  })
