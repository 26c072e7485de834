import { Context, type Effect, Schema } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** `included`: every account has it. `upgraded`: while the storage upgrade is paid. */
export const StorageTier = Schema.Literal("included", "upgraded").annotations({ identifier: "StorageTier" })
export type StorageTier = typeof StorageTier.Type

const gigabytes: Record<StorageTier, number> = { included: 10, upgraded: 50 }

export const findStorageGigabytes = (tier: StorageTier): number => gigabytes[tier]

/** Storage tier of an account, independent of its plan and credits. */
export class StorageEntitlements extends Context.Tag("@berth/StorageEntitlements")<
  StorageEntitlements,
  {
    readonly find: (userId: UserId) => Effect.Effect<StorageTier>
    /** Joins the running transaction. Writes nothing for an unknown user. */
    readonly set: (userId: UserId, tier: StorageTier) => Effect.Effect<void>
  }
>() {}
