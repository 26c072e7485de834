import type { ConsoleNotice, ConsolePricing, ConsoleStorage, EmailNotice } from "@berth/api/pages/ConsoleSettings"
import type { Agent } from "@berth/domain/agents/Agent"
import { storageUpgrade } from "@berth/domain/billing/checkout/Purchase"
import { findStorageGigabytes, type StorageTier } from "@berth/domain/billing/storage/StorageEntitlements"
import type { Allowance } from "@berth/domain/billing/subscriptions/Allowances"
import type { UnitUsage } from "@berth/domain/billing/units/UnitSplit"
import { toMajorUnits } from "@berth/domain/shared/Money"
import type { User } from "@berth/domain/shared/User"
import { formatMebibytes, formatPrice } from "./Layout.ts"

export interface ConsolePage {
  readonly nonce: string
  readonly path: string
  readonly user: User
  readonly isAdministrator: boolean
  readonly isBillingExempt: boolean
  readonly agents: ReadonlyArray<Agent>
  readonly allowance: Allowance
  readonly usage: UnitUsage
  readonly tier: StorageTier
  readonly hasCardProcessor: boolean
  readonly pricing: ConsolePricing
  readonly appUrl: URL
  /** Address of the instance's subdomain, which serves a page once an agent exists. */
  readonly instanceUrl: string
  readonly notices: ReadonlyArray<ConsoleNotice>
  /**
   * Warning for the agent in the address. The application reads it with the agent, so that it disappears without a
   * reload.
   */
  readonly modelWarning: string | null
  readonly emailNotice: EmailNotice | null
  readonly models: ReadonlyArray<string>
  readonly repliesFromSandbox: boolean
  readonly logsMailLinks: boolean
}

export const formatConsoleStorage = ({
  allowance: { storageMb },
  hasCardProcessor,
  tier
}: ConsolePage): ConsoleStorage => ({
  account: `${findStorageGigabytes(tier)} GiB`,
  instance: formatMebibytes(storageMb),
  isUpgraded: tier === "upgraded",
  // Without a card processor there are no purchases.
  upgrade:
    hasCardProcessor && tier !== "upgraded"
      ? `${findStorageGigabytes("upgraded")} GiB for ${formatPrice(toMajorUnits(storageUpgrade.price.amount), storageUpgrade.price.currency)} per month`
      : null
})
