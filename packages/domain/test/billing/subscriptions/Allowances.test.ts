import { computeAllowance } from "@berth/domain/billing/subscriptions/Allowances"
import { allFeatures } from "@berth/domain/billing/subscriptions/PlanFeatures"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import type { PlanId } from "@berth/domain/shared/PlanId"
import { UserId } from "@berth/domain/shared/UserId"

const userId = UserId.make("usr_1")
const on = (plan: PlanId, status: "active" | "past_due" | "canceled" = "active") =>
  computeAllowance(false, Option.some({ userId, plan, status }), "included")

describe("computeAllowance", () => {
  const agents: Record<PlanId, number> = {
    free: 1,
    starter: 1,
    pro: 3,
    enterprise: 100,
    solo: 1,
    collective: 3,
    label: 10,
    scale: 3,
    network: Number.POSITIVE_INFINITY
  }
  const plans: ReadonlyArray<PlanId> = [
    "free",
    "starter",
    "pro",
    "enterprise",
    "solo",
    "collective",
    "label",
    "scale",
    "network"
  ]
  for (const plan of plans)
    it(`${plan} allows ${agents[plan]} agents`, () => assert.strictEqual(on(plan).agents, agents[plan]))

  it("computeAllowance requires an active subscription", () => {
    assert.isTrue(on("pro").mayProvision)
    assert.isFalse(on("pro", "past_due").mayProvision)
    assert.isFalse(on("pro", "canceled").mayProvision)
    assert.isFalse(computeAllowance(false, Option.none(), "included").mayProvision)
  })
  it("computeAllowance returns the free allowance for an unpaid plan", () =>
    assert.strictEqual(on("enterprise", "canceled").agents, 1))
  it("computeAllowance includes purchased storage on any plan", () => {
    for (const plan of plans) {
      const purchased = computeAllowance(false, Option.some({ userId, plan, status: "active" }), "upgraded")
      assert.deepStrictEqual(purchased, { ...on(plan), storageMb: 51_200 })
    }
    assert.strictEqual(computeAllowance(true, Option.none(), "upgraded").storageMb, 51_200)
  })
  it("computeAllowance requires no subscription of administrators", () =>
    assert.deepStrictEqual(computeAllowance(true, Option.none(), "included"), {
      plan: "free",
      mayProvision: true,
      agents: 999,
      memoryMb: 2048,
      cpus: 1,
      storageMb: 1024,
      features: allFeatures
    }))
})
