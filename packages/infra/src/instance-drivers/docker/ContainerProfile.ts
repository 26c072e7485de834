import { RuntimeEnvironment } from "@berth/api/runtime/RuntimeContract"
import type { InstanceSpec } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Option, Schema, Struct } from "effect"
import { isDeepStrictEqual } from "node:util"
import { permissionFlagsOfVersion } from "../NodeFlags.ts"
import {
  instanceHome,
  instanceUid,
  makeContainerArguments,
  makeContainerEnvironment,
  volumePath
} from "../RuntimeImage.ts"
import { type ContainerCreation, type ContainerInspection, HostConfig, type ImageInspection } from "./EngineModels.ts"
import { tokenFile } from "./StartFiles.ts"

const instanceUser = `${instanceUid}:${instanceUid}`
const installationLabel = "berth.installation"
const ownerLabel = "berth.owner"
const memoryLabel = "berth.memory-mb"
const diskLabel = "berth.disk-mb"

const mib = 1024 * 1024
const cpuPeriod = 100_000
/** Maximum processes and threads; Node.js alone has eleven. */
const maximumPids = 64
const maximumOpenFiles = 1024
const maximumFileBytes = 64 * mib
/**
 * A documentation address (RFC 5737), since the engine's name server would forward queries out of the internal network.
 */
const unreachableNameServer = "192.0.2.1"

/** Labels that identify the containers and volumes of one installation on an engine. */
export const installationLabels = (installation: string): Readonly<Record<string, string>> => ({
  [installationLabel]: installation
})
export const ownerLabels = (installation: string, owner: UserId): Readonly<Record<string, string>> => ({
  ...installationLabels(installation),
  [ownerLabel]: owner
})
export const findOwner = (labels: Readonly<Record<string, string>>): string | undefined => labels[ownerLabel]
export const findLimits = (labels: Readonly<Record<string, string>>) => ({
  memoryMb: Number(labels[memoryLabel]),
  diskMb: Number(labels[diskLabel])
})
export const findRuntimeVersion = (labels: Readonly<Record<string, string>>): string =>
  labels["org.opencontainers.image.version"] ?? "unknown"

/** Resource limits and isolation of every container of the driver. */
const makeHostConfig = (
  volume: string,
  network: string,
  { cpus, memoryMb }: Pick<InstanceSpec, "cpus" | "memoryMb">
): HostConfig => ({
  Privileged: false,
  CapAdd: [],
  CapDrop: ["ALL"],
  // Without a seccomp option, the engine applies its default profile.
  SecurityOpt: ["no-new-privileges"],
  ReadonlyRootfs: true,
  NetworkMode: network,
  PidMode: "",
  IpcMode: "private",
  UTSMode: "",
  UsernsMode: "",
  GroupAdd: [],
  Binds: [],
  VolumesFrom: [],
  Devices: [],
  // Root owns the volume's root directory, so that the instance cannot replace its home.
  Mounts: [{ Type: "volume", Source: volume, Target: volumePath }],
  Tmpfs: { "/tmp": "rw,noexec,nosuid,nodev,size=16m" },
  ShmSize: mib,
  Dns: [unreachableNameServer],
  DnsOptions: ["timeout:1", "attempts:1"],
  Memory: memoryMb * mib,
  // Equal to the memory, which disables swap.
  MemorySwap: memoryMb * mib,
  // Unlike `NanoCpus`, a quota may exceed the host's processors.
  CpuPeriod: cpuPeriod,
  CpuQuota: Math.round(cpus * cpuPeriod),
  PidsLimit: maximumPids,
  Ulimits: [
    { Name: "core", Soft: 0, Hard: 0 },
    { Name: "nofile", Soft: maximumOpenFiles, Hard: maximumOpenFiles },
    { Name: "fsize", Soft: maximumFileBytes, Hard: maximumFileBytes }
  ],
  OomScoreAdj: 500,
  PublishAllPorts: false,
  // Instances are restarted by the reconciler.
  RestartPolicy: { Name: "no", MaximumRetryCount: 0 },
  AutoRemove: false,
  LogConfig: { Type: "json-file", Config: { "max-size": "2m", "max-file": "2", mode: "non-blocking" } }
})

interface ContainerPlacement {
  readonly installation: string
  readonly volume: string
  readonly network: string
}

const nodeVersionOf = ({ Config: { Env } }: ImageInspection): string =>
  Env.find((line) => line.startsWith("NODE_VERSION="))?.slice("NODE_VERSION=".length) ?? ""

/** Profile of an instance's container, without its token. */
export const makeContainerProfile = (
  spec: InstanceSpec,
  image: ImageInspection,
  { installation, network, volume }: ContainerPlacement
): ContainerCreation => {
  const environment: Readonly<Record<string, string>> = {
    [RuntimeEnvironment.tokenFile]: `${instanceHome}/${tokenFile}`,
    ...makeContainerEnvironment(spec)
  }
  return {
    Image: image.Id,
    User: instanceUser,
    Entrypoint: ["node"],
    Cmd: makeContainerArguments(spec.memoryMb, permissionFlagsOfVersion(nodeVersionOf(image))),
    WorkingDir: instanceHome,
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    Labels: {
      ...ownerLabels(installation, spec.owner),
      [memoryLabel]: String(spec.memoryMb),
      [diskLabel]: String(spec.diskMb)
    },
    StopSignal: "SIGTERM",
    HostConfig: makeHostConfig(volume, network, spec)
  }
}

/** Profile of a short task on an instance's files: as the instance, without its network. */
export const makeTaskProfile = (
  { Id }: ImageInspection,
  { installation, volume }: Omit<ContainerPlacement, "network">,
  command: ReadonlyArray<string>
): ContainerCreation => ({
  Image: Id,
  User: instanceUser,
  Entrypoint: [],
  Cmd: command,
  WorkingDir: "/",
  Env: [],
  Labels: installationLabels(installation),
  StopSignal: "SIGKILL",
  HostConfig: makeHostConfig(volume, "none", { cpus: 1, memoryMb: 128 })
})

const decodeHostConfig = Schema.decodeUnknownOption(HostConfig)
const hostConfigFields = Struct.keys(HostConfig.fields)

/** Returns the settings in which a container differs from its profile. Such a container is not adopted. */
export const findProfileDifferences = (
  desired: ContainerCreation,
  actual: Pick<ContainerInspection, "Config" | "HostConfig">
): ReadonlyArray<string> => {
  const { Config } = actual
  const program = [
    Config.User === desired.User ? "" : "User",
    isDeepStrictEqual(Config.Cmd, desired.Cmd) && isDeepStrictEqual(Config.Entrypoint, desired.Entrypoint) ? "" : "Cmd",
    // The image adds variables.
    desired.Env.every((line) => Config.Env.includes(line)) ? "" : "Env"
  ]
  const limits = Option.match(decodeHostConfig(actual.HostConfig), {
    onNone: () => ["HostConfig"],
    onSome: (found) => hostConfigFields.filter((field) => !isDeepStrictEqual(found[field], desired.HostConfig[field]))
  })
  return [...program, ...limits].filter((name) => name !== "")
}
