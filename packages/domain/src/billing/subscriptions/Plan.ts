import { Units } from "../../shared/Money.ts"
import type { PlanId } from "../../shared/PlanId.ts"

interface PlanEntitlements {
  /** Maximum agents at a time, without failed ones. */
  readonly agents: number
  /** Units per UTC day. */
  readonly dailyUnits: Units
  /** Memory of the instance, in MiB. */
  readonly memoryMb: number
  /** Processor time of the instance, in cores. */
  readonly cpus: number
  /** Size limit of the instance directory, in MiB. */
  readonly storageMb: number
}

const entitlements: Record<PlanId, PlanEntitlements> = {
  free: { agents: 1, dailyUnits: Units(50), memoryMb: 256, cpus: 0.5, storageMb: 256 },
  starter: { agents: 1, dailyUnits: Units(600), memoryMb: 2048, cpus: 1, storageMb: 1024 },
  solo: { agents: 1, dailyUnits: Units(600), memoryMb: 2048, cpus: 1, storageMb: 1024 },
  pro: { agents: 3, dailyUnits: Units(1000), memoryMb: 4096, cpus: 2, storageMb: 2048 },
  collective: { agents: 3, dailyUnits: Units(1000), memoryMb: 4096, cpus: 2, storageMb: 2048 },
  scale: { agents: 3, dailyUnits: Units(2500), memoryMb: 8192, cpus: 2, storageMb: 5120 },
  label: { agents: 10, dailyUnits: Units(2500), memoryMb: 8192, cpus: 2, storageMb: 5120 },
  enterprise: { agents: 100, dailyUnits: Units(10_000), memoryMb: 16_384, cpus: 4, storageMb: 10_240 },
  network: { agents: Number.POSITIVE_INFINITY, dailyUnits: Units(10_000), memoryMb: 16_384, cpus: 4, storageMb: 10_240 }
}

/** Entitlements of users exempt from billing; their units are not counted. */
export const adminEntitlements: Omit<PlanEntitlements, "dailyUnits"> = {
  agents: 999,
  memoryMb: 2048,
  cpus: 1,
  storageMb: 1024
}

export const findEntitlements = (plan: PlanId): PlanEntitlements => entitlements[plan]
