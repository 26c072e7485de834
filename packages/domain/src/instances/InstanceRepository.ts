import { Context, type DateTime, type Effect, type Option, type Redacted } from "effect"
import type { DesiredState, Instance } from "./Instance.ts"
import type { UserId } from "../shared/UserId.ts"

/** An instance with its owner's address and name. */
export interface ListedInstance {
  readonly instance: Instance
  readonly ownerEmail: string
  readonly ownerName: string
}

export interface InstanceChanges {
  readonly desired?: DesiredState
  readonly status?: Instance["status"]
  readonly startedAt?: Instance["startedAt"]
  readonly runtimeVersion?: string | null
}

/** Tokens are sealed in the rows. */
export class InstanceRepository extends Context.Tag("@berth/InstanceRepository")<
  InstanceRepository,
  {
    /** Creates the instance on the first call; concurrent first calls create one. */
    readonly ensure: (userId: UserId, subdomain: string) => Effect.Effect<Instance>
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<Instance>>
    readonly findOwnerBySubdomain: (subdomain: string) => Effect.Effect<Option.Option<UserId>>
    /** `desired: "up"` counts as use. */
    readonly update: (userId: UserId, changes: InstanceChanges) => Effect.Effect<void>
    /** Newest first, with the full count. */
    readonly list: (page: {
      readonly limit: number
      readonly offset: number
    }) => Effect.Effect<{ readonly instances: ReadonlyArray<ListedInstance>; readonly total: number }>
    /** Oldest first. */
    readonly listDesired: (desired: DesiredState) => Effect.Effect<ReadonlyArray<Instance>>
    /** Returns the owners among these whose instance is desired up. */
    readonly recordUse: (userIds: ReadonlyArray<UserId>) => Effect.Effect<ReadonlySet<UserId>>
    /** The owners of instances that are desired up and were last used before `since`. */
    readonly listUnused: (since: DateTime.Utc) => Effect.Effect<ReadonlyArray<UserId>>
    /** False when the instance was used since, or is not desired up. */
    readonly markAsleep: (userId: UserId, since: DateTime.Utc) => Effect.Effect<boolean>
    /** The token between runtime and backend, created on the first call. */
    readonly ensureRuntimeToken: (userId: UserId) => Effect.Effect<Redacted.Redacted>
    /** None for a suspended owner. */
    readonly findByRuntimeToken: (token: Redacted.Redacted) => Effect.Effect<Option.Option<UserId>>
    /** The owner's token for the instance's own endpoints, created on the first call. */
    readonly ensureGatewayToken: (userId: UserId) => Effect.Effect<Redacted.Redacted>
    /** The next `ensureGatewayToken` creates another token. */
    readonly revokeGatewayToken: (userId: UserId) => Effect.Effect<void>
    /** A value per owner that changes with the gateway token. Owners without a token and suspended ones are absent. */
    readonly listGatewayTokenVersions: (userIds: ReadonlyArray<UserId>) => Effect.Effect<ReadonlyMap<UserId, string>>
    /** Runs one effect at a time per owner, across processes. */
    readonly serialized: <A, E, R>(userId: UserId, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}
