import { Context, type DateTime, type Effect, type Option, type Redacted } from "effect"
import type { DesiredState, Instance } from "./Instance.ts"
import type { UserId } from "../shared/UserId.ts"

/** An instance with the address and name of its owner. */
interface ListedInstance {
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
    /** Creates the instance if absent. Idempotent under concurrency. */
    readonly ensure: (userId: UserId, subdomain: string) => Effect.Effect<Instance>
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<Instance>>
    readonly findOwnerBySubdomain: (subdomain: string) => Effect.Effect<Option.Option<UserId>>
    /** `desired: "up"` counts as a use. */
    readonly update: (userId: UserId, changes: InstanceChanges) => Effect.Effect<void>
    /** Newest first, with the count of all instances. */
    readonly list: (page: {
      readonly limit: number
      readonly offset: number
    }) => Effect.Effect<{ readonly instances: ReadonlyArray<ListedInstance>; readonly total: number }>
    /** Oldest first. */
    readonly listDesired: (desired: DesiredState) => Effect.Effect<ReadonlyArray<Instance>>
    /** Returns the owners among these whose instance has the desired state `up`. */
    readonly recordUse: (userIds: ReadonlyArray<UserId>) => Effect.Effect<ReadonlySet<UserId>>
    /** Owners of instances with the desired state `up`, last used before `since`. */
    readonly listUnused: (since: DateTime.Utc) => Effect.Effect<ReadonlyArray<UserId>>
    /** False if the instance was used since `since`, or its desired state is not `up`. */
    readonly markAsleep: (userId: UserId, since: DateTime.Utc) => Effect.Effect<boolean>
    /** Returns the token between runtime and backend; creates it if absent. */
    readonly ensureRuntimeToken: (userId: UserId) => Effect.Effect<Redacted.Redacted>
    /** None for a suspended owner. */
    readonly findByRuntimeToken: (token: Redacted.Redacted) => Effect.Effect<Option.Option<UserId>>
    /** Returns the owner's token for the instance's endpoints; creates it if absent. */
    readonly ensureGatewayToken: (userId: UserId) => Effect.Effect<Redacted.Redacted>
    /** The next `ensureGatewayToken` creates a new token. */
    readonly revokeGatewayToken: (userId: UserId) => Effect.Effect<void>
    /** A value per owner that changes with the gateway token. Excludes suspended owners and owners without a token. */
    readonly listGatewayTokenVersions: (userIds: ReadonlyArray<UserId>) => Effect.Effect<ReadonlyMap<UserId, string>>
    /** Runs effects of an owner one at a time, across processes. */
    readonly serialized: <A, E, R>(userId: UserId, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}
