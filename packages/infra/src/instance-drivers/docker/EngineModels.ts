import { Schema } from "effect"

/* Required members of the Docker Engine API, with the engine's names (Engine API 1.41 and later). */

/** The engine returns null for an empty list. */
const listOf = <A, I>(item: Schema.Schema<A, I>) =>
  Schema.optionalWith(Schema.Array(item), { nullable: true, default: () => [] })
const StringMap = Schema.Record({ key: Schema.String, value: Schema.String })
export const EngineVersion = Schema.Struct({ ApiVersion: Schema.String })

export const EngineInfo = Schema.Struct({ SecurityOptions: Schema.NullOr(Schema.Array(Schema.String)) })

export const ImageInspection = Schema.Struct({
  Id: Schema.String,
  Config: Schema.Struct({ Env: listOf(Schema.String) })
})
export type ImageInspection = typeof ImageInspection.Type

const Labels = Schema.optionalWith(StringMap, { nullable: true, default: () => ({}) })

export const NetworkInspection = Schema.Struct({
  Id: Schema.String,
  Name: Schema.String,
  Created: Schema.DateTimeUtc,
  Driver: Schema.String,
  Internal: Schema.Boolean,
  EnableIPv6: Schema.Boolean,
  Options: Schema.optionalWith(StringMap, { nullable: true, default: () => ({}) }),
  IPAM: Schema.Struct({
    Config: Schema.NullOr(Schema.Array(Schema.Struct({ Gateway: Schema.optional(Schema.String) })))
  }),
  /** Running containers, by id; absent in lists. */
  Containers: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), {
    nullable: true,
    default: () => ({})
  })
})
export type NetworkInspection = typeof NetworkInspection.Type

export const NetworkCreation = Schema.Struct({
  Name: Schema.String,
  CheckDuplicate: Schema.Boolean,
  Driver: Schema.String,
  Internal: Schema.Boolean,
  EnableIPv6: Schema.Boolean,
  Options: StringMap
})
export type NetworkCreation = typeof NetworkCreation.Type

export const VolumeInspection = Schema.Struct({ Name: Schema.String, Mountpoint: Schema.String, Labels })
export type VolumeInspection = typeof VolumeInspection.Type

export const VolumeList = Schema.Struct({ Volumes: Schema.NullOr(Schema.Array(VolumeInspection)) })
export const VolumeCreation = Schema.Struct({ Name: Schema.String, Labels: StringMap })

/** Sizes of all volumes in bytes; -1 if unknown to the engine. */
export const DiskUsage = Schema.Struct({
  Volumes: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        Name: Schema.String,
        UsageData: Schema.optionalWith(Schema.Struct({ Size: Schema.Number }), { nullable: true })
      })
    )
  )
})

/** Settings of a container that limit and isolate it. */
export const HostConfig = Schema.Struct({
  Privileged: Schema.Boolean,
  CapAdd: listOf(Schema.String),
  CapDrop: listOf(Schema.String),
  SecurityOpt: listOf(Schema.String),
  ReadonlyRootfs: Schema.Boolean,
  NetworkMode: Schema.String,
  PidMode: Schema.String,
  IpcMode: Schema.String,
  UTSMode: Schema.String,
  UsernsMode: Schema.String,
  GroupAdd: listOf(Schema.String),
  Binds: listOf(Schema.String),
  VolumesFrom: listOf(Schema.String),
  Devices: listOf(Schema.Unknown),
  Mounts: listOf(Schema.Struct({ Type: Schema.String, Source: Schema.String, Target: Schema.String })),
  Tmpfs: StringMap,
  ShmSize: Schema.Int,
  Dns: listOf(Schema.String),
  DnsOptions: listOf(Schema.String),
  Memory: Schema.Int,
  MemorySwap: Schema.Int,
  CpuPeriod: Schema.Int,
  CpuQuota: Schema.Int,
  PidsLimit: Schema.Int,
  Ulimits: listOf(Schema.Struct({ Name: Schema.String, Soft: Schema.Int, Hard: Schema.Int })),
  OomScoreAdj: Schema.Int,
  PublishAllPorts: Schema.Boolean,
  RestartPolicy: Schema.Struct({ Name: Schema.String, MaximumRetryCount: Schema.Int }),
  AutoRemove: Schema.Boolean,
  LogConfig: Schema.Struct({ Type: Schema.String, Config: StringMap })
})
export type HostConfig = typeof HostConfig.Type

export const ContainerCreation = Schema.Struct({
  Image: Schema.String,
  User: Schema.String,
  Cmd: Schema.Array(Schema.String),
  Entrypoint: Schema.Array(Schema.String),
  WorkingDir: Schema.String,
  Env: Schema.Array(Schema.String),
  Labels: StringMap,
  StopSignal: Schema.String,
  HostConfig
})
export type ContainerCreation = typeof ContainerCreation.Type

export const ContainerCreated = Schema.Struct({ Id: Schema.String })

export const ContainerState = Schema.Struct({
  Running: Schema.Boolean,
  OOMKilled: Schema.Boolean,
  ExitCode: Schema.Int,
  Error: Schema.String,
  Pid: Schema.Int,
  StartedAt: Schema.DateTimeUtc
})
export type ContainerState = typeof ContainerState.Type

export const ContainerInspection = Schema.Struct({
  Id: Schema.String,
  /** Id of the image. */
  Image: Schema.String,
  State: ContainerState,
  Config: Schema.Struct({
    User: Schema.String,
    Cmd: listOf(Schema.String),
    Entrypoint: listOf(Schema.String),
    Env: listOf(Schema.String),
    Labels
  }),
  /** Not decoded, since settings of other programs may have other types. */
  HostConfig: Schema.Unknown,
  NetworkSettings: Schema.Struct({
    Networks: Schema.Record({ key: Schema.String, value: Schema.Struct({ IPAddress: Schema.String }) })
  })
})
export type ContainerInspection = typeof ContainerInspection.Type

export const ContainerSummary = Schema.Struct({
  Id: Schema.String,
  Names: listOf(Schema.String),
  State: Schema.String,
  Labels
})

/** A sample; members can be absent, by engine and cgroup version. */
export const ContainerStats = Schema.Struct({
  pids_stats: Schema.Struct({ current: Schema.optional(Schema.Int) }),
  cpu_stats: Schema.Struct({ cpu_usage: Schema.Struct({ total_usage: Schema.Number }) }),
  memory_stats: Schema.Struct({
    usage: Schema.optional(Schema.Int),
    stats: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Number }))
  }),
  networks: Schema.optional(
    Schema.Record({ key: Schema.String, value: Schema.Struct({ rx_bytes: Schema.Int, tx_bytes: Schema.Int }) })
  )
})
export type ContainerStats = typeof ContainerStats.Type

export const ContainerExited = Schema.Struct({ StatusCode: Schema.Int })

export const EngineEvent = Schema.Struct({
  Actor: Schema.Struct({ ID: Schema.String })
})
export type EngineEvent = typeof EngineEvent.Type

export const EngineErrorBody = Schema.Struct({ message: Schema.String })
