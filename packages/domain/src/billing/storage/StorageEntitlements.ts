import { Context, type Effect, Schema } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** `included`: what every account has. `upgraded`: while the storage upgrade is paid for. */
export const StorageTier = Schema.Literal("included", "upgraded").annotations({ identifier: "StorageTier" })
export type StorageTier = typeof StorageTier.Type

const gigabytes: Record<StorageTier, number> = { included: 10, upgraded: 50 }

/** What an account may keep at this tier, in GiB. */
export const findStorageGigabytes = (tier: StorageTier): number => gigabytes[tier]

/**
 * What an account may store. It stands beside the plan: it is bought by itself, and no plan, credit pack or refund of
 * these changes it.
 */
export class StorageEntitlements extends Context.Tag("@berth/StorageEntitlements")<
  StorageEntitlements,
  {
    /** `included` for whoever was never told otherwise. */
    readonly find: (userId: UserId) => Effect.Effect<StorageTier>
    /** Joins the running transaction. Of somebody who is not there (any more), nothing is written. */
    readonly set: (userId: UserId, tier: StorageTier) => Effect.Effect<void>
  }
>() {}
