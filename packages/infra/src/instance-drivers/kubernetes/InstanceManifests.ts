import { RuntimeEnvironment, runtimeDrainSeconds } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import type {
  V1Container,
  V1NetworkPolicy,
  V1NetworkPolicyEgressRule,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1PodSpec,
  V1PodTemplateSpec,
  V1Secret,
  V1Service,
  V1StatefulSet
} from "@kubernetes/client-node"
import { Redacted } from "effect"
import { createHash } from "node:crypto"
import type { PermissionFlags } from "../NodeFlags.ts"
import {
  homeName,
  instanceHome,
  instanceUid,
  makeContainerArguments,
  makeContainerEnvironment,
  runtimePort
} from "../RuntimeImage.ts"
import type { BackendPeer } from "./BackendPeer.ts"
import { type PodNames, makeLabels, makePodSelector } from "./PodNames.ts"

export const containerName = "runtime"
export const taskContainerName = "task"
const tokenKey = "token"
const dataVolume = "data"
const temporaryVolume = "tmp"

/** Image of the next start: the last accepted one. */
export const acceptedImageAnnotation = "berth.accepted-image"
export const runtimeVersionAnnotation = "berth.runtime-version"
/** Digest of the pod template. A running pod with another digest is replaced instead of adopted. */
export const profileAnnotation = "berth.profile"
const memoryAnnotation = "berth.memory-mb"
export const findMemoryMb = (annotations: Readonly<Record<string, string>>): number =>
  Number(annotations[memoryAnnotation])

export const terminationGraceSeconds = runtimeDrainSeconds + 1
const taskSeconds = 60

/** For logs and files outside of the volume; the profile allows no such files. */
const ephemeralStorage = "256Mi"
/** Share of the memory limit that the scheduler reserves; low, since most instances are idle. */
const requestedMemoryShare = 1 / 8
const minimumRequestedMemoryMb = 96
const requestedCpus = "50m"

/** Permissions and limits of every container. */
const containerProfile = (limits: { readonly memoryMb: number; readonly cpus: number }) =>
  ({
    imagePullPolicy: "IfNotPresent",
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true
    },
    resources: {
      limits: {
        memory: `${limits.memoryMb}Mi`,
        cpu: `${Math.round(limits.cpus * 1000)}m`,
        "ephemeral-storage": ephemeralStorage
      },
      requests: {
        memory: `${Math.min(limits.memoryMb, Math.max(minimumRequestedMemoryMb, Math.ceil(limits.memoryMb * requestedMemoryShare)))}Mi`,
        cpu: requestedCpus,
        "ephemeral-storage": "64Mi"
      }
    },
    volumeMounts: [
      // The volume's root is not mounted, so that the instance cannot replace its home.
      { name: dataVolume, mountPath: instanceHome, subPath: homeName },
      { name: temporaryVolume, mountPath: "/tmp" }
    ]
  }) satisfies Partial<V1Container>

/** Permissions of every pod. */
const podProfile = (claim: string) =>
  ({
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostNetwork: false,
    hostPID: false,
    hostIPC: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: instanceUid,
      runAsGroup: instanceUid,
      fsGroup: instanceUid,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" }
    },
    volumes: [
      { name: dataVolume, persistentVolumeClaim: { claimName: claim } },
      { name: temporaryVolume, emptyDir: { medium: "Memory", sizeLimit: "16Mi" } }
    ]
  }) satisfies Partial<V1PodSpec>

const metadataOf = (names: PodNames, namespace: string) => ({
  name: names.name,
  namespace,
  labels: makeLabels(names, "instance")
})

const makePodTemplate = (
  spec: InstanceSpec,
  names: PodNames,
  image: string,
  permission: PermissionFlags
): V1PodTemplateSpec => {
  const environment = makeContainerEnvironment(spec)
  const podSpec: V1PodSpec = {
    ...podProfile(names.name),
    terminationGracePeriodSeconds: terminationGraceSeconds,
    containers: [
      {
        ...containerProfile(spec),
        name: containerName,
        image,
        command: ["node"],
        args: [...makeContainerArguments(spec.memoryMb, permission)],
        workingDir: instanceHome,
        env: [
          { name: RuntimeEnvironment.token, valueFrom: { secretKeyRef: { name: names.name, key: tokenKey } } },
          ...Object.entries(environment).map(([name, value]) => ({ name, value }))
        ],
        ports: [{ name: "http", containerPort: runtimePort, protocol: "TCP" }],
        // The runtime requires its token over HTTP, which the kubelet does not have.
        readinessProbe: { tcpSocket: { port: "http" }, periodSeconds: 5 }
      }
    ]
  }
  const profile = createHash("sha256").update(JSON.stringify(podSpec)).digest("hex")
  return {
    metadata: {
      labels: makeLabels(names, "instance"),
      annotations: { [profileAnnotation]: profile, [memoryAnnotation]: String(spec.memoryMb) }
    },
    spec: podSpec
  }
}

export interface StatefulSetOptions {
  readonly namespace: string
  readonly image: string
  /** Null before an image is accepted. */
  readonly accepted: { readonly image: string; readonly runtimeVersion: string } | null
  readonly replicas: 0 | 1
  readonly permission: PermissionFlags
}

/** StatefulSet of an instance. Its pod is replaced by scaling to zero and back, never by a change of the template. */
export const makeStatefulSet = (
  spec: InstanceSpec,
  names: PodNames,
  { accepted, image, namespace, permission, replicas }: StatefulSetOptions
): V1StatefulSet => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: {
    ...metadataOf(names, namespace),
    ...(accepted === null
      ? {}
      : {
          annotations: {
            [acceptedImageAnnotation]: accepted.image,
            [runtimeVersionAnnotation]: accepted.runtimeVersion
          }
        })
  },
  spec: {
    replicas,
    serviceName: names.name,
    podManagementPolicy: "Parallel",
    updateStrategy: { type: "OnDelete" },
    revisionHistoryLimit: 1,
    selector: { matchLabels: makePodSelector(names) },
    template: makePodTemplate(spec, names, image, permission)
  }
})

export const makeSecret = (spec: InstanceSpec, names: PodNames, namespace: string): V1Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "Opaque",
  metadata: metadataOf(names, namespace),
  data: { [tokenKey]: Buffer.from(Redacted.value(spec.token)).toString("base64") }
})

/** Service that names the pod in DNS; required by a StatefulSet. */
export const makeService = (names: PodNames, namespace: string): V1Service => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: metadataOf(names, namespace),
  spec: {
    clusterIP: "None",
    selector: makePodSelector(names),
    ports: [{ name: "http", protocol: "TCP", port: runtimePort, targetPort: "http" }]
  }
})

/** API format; the client's model renames `from`. */
interface NetworkPolicyManifest extends Omit<V1NetworkPolicy, "spec"> {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly policyTypes: ReadonlyArray<"Ingress" | "Egress">
    readonly ingress: ReadonlyArray<{
      readonly from: ReadonlyArray<V1NetworkPolicyPeer>
      readonly ports: ReadonlyArray<V1NetworkPolicyPort>
    }>
    readonly egress: ReadonlyArray<V1NetworkPolicyEgressRule>
  }
}

/** Ingress only from the backend; egress to the backend's runtime routes, and to the name server that resolves them. */
export const makeNetworkPolicy = (
  names: PodNames,
  namespace: string,
  { names: nameServer, peer, port }: BackendPeer
): NetworkPolicyManifest => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: metadataOf(names, namespace),
  spec: {
    podSelector: { matchLabels: { "app.kubernetes.io/instance": names.name } },
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ from: [peer], ports: [{ protocol: "TCP", port: runtimePort }] }],
    egress: [{ to: [peer], ports: [{ protocol: "TCP", port }] }, ...nameServer]
  }
})

export const makeVolumeClaim = (
  { diskMb }: Pick<InstanceSpec, "diskMb">,
  names: PodNames,
  namespace: string
): V1PersistentVolumeClaim => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: metadataOf(names, namespace),
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: `${diskMb}Mi` } } }
})

/**
 * Node drains wait until the instance sleeps, so that no turn is interrupted. A pod that is not ready never delays
 * them.
 */
export const makeDisruptionBudget = (names: PodNames, namespace: string): V1PodDisruptionBudget => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: metadataOf(names, namespace),
  spec: {
    maxUnavailable: 0,
    unhealthyPodEvictionPolicy: "AlwaysAllow",
    selector: { matchLabels: makePodSelector(names) }
  }
})

interface TaskPodOptions {
  readonly namespace: string
  readonly image: string
  readonly command: ReadonlyArray<string>
  /** Whether the instance runs; then only its node can mount the volume. */
  readonly isRunning: boolean
}

/** Pod of a short task on the instance's files, as the instance but without its token. */
export const makeTaskPod = (names: PodNames, { command, image, isRunning, namespace }: TaskPodOptions): V1Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: names.task, namespace, labels: makeLabels(names, "task") },
  spec: {
    ...podProfile(names.name),
    restartPolicy: "Never",
    activeDeadlineSeconds: taskSeconds,
    terminationGracePeriodSeconds: 0,
    ...(isRunning
      ? {
          affinity: {
            podAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { labelSelector: { matchLabels: makePodSelector(names) }, topologyKey: "kubernetes.io/hostname" }
              ]
            }
          }
        }
      : {}),
    containers: [
      {
        ...containerProfile({ cpus: 1, memoryMb: 128 }),
        name: taskContainerName,
        image,
        command: [...command],
        workingDir: "/"
      }
    ]
  }
})
