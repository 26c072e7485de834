import { Context, type Effect, type Option, type Redacted } from "effect"
import type { DesiredState, Instance } from "./Instance.ts"
import type { UserId } from "../shared/UserId.ts"

export interface InstanceChanges {
  readonly desired?: DesiredState
  readonly status?: Instance["status"]
  readonly startedAt?: Instance["startedAt"]
  readonly runtimeVersion?: string | null
}

/** Secrets of an instance are sealed before they reach a row, and opened on the way back. */
export class InstanceRepository extends Context.Tag("@berth/InstanceRepository")<
  InstanceRepository,
  {
    /** The owner's instance, made on first call; concurrent first calls make one. */
    readonly ensure: (userId: UserId, subdomain: string) => Effect.Effect<Instance>
    readonly find: (userId: UserId) => Effect.Effect<Option.Option<Instance>>
    readonly update: (userId: UserId, changes: InstanceChanges) => Effect.Effect<void>
    /** Every instance that should be up, or down: what a starting backend revives, or finds left by an earlier one. Oldest first. */
    readonly listDesired: (desired: DesiredState) => Effect.Effect<ReadonlyArray<Instance>>
    /** The token that a cell and the backend show each other; made on first call, then the same. */
    readonly ensureRuntimeToken: (userId: UserId) => Effect.Effect<Redacted.Redacted>
    readonly findByRuntimeToken: (token: Redacted.Redacted) => Effect.Effect<Option.Option<UserId>>
    /** The owner's token for the instance's own endpoints; made on first call, then the same. */
    readonly ensureGatewayToken: (userId: UserId) => Effect.Effect<Redacted.Redacted>
    /** The next call makes another gateway token. */
    readonly revokeGatewayToken: (userId: UserId) => Effect.Effect<void>
    /** Of each owner's gateway token something that changes when the token does; none for who has no token. */
    readonly listGatewayTokenVersions: (userIds: ReadonlyArray<UserId>) => Effect.Effect<ReadonlyMap<UserId, string>>
    /** One caller at a time per owner, across processes. */
    readonly serialized: <A, E, R>(userId: UserId, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}
