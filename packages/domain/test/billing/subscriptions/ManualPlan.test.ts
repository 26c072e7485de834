import { decideManualPlan, isManualPlan, type StoredSubscription } from "@berth/domain/billing/subscriptions/ManualPlan"
import { findEffectivePlan } from "@berth/domain/billing/subscriptions/Subscription"
import { PlanId } from "@berth/domain/shared/PlanId"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"

const plan = FastCheck.constantFrom(...PlanId.literals)
const stored: FastCheck.Arbitrary<StoredSubscription> = FastCheck.record({
  plan,
  status: FastCheck.constantFrom("active", "past_due", "canceled"),
  byCard: FastCheck.boolean()
})

describe("decideManualPlan", () => {
  it.prop(
    "decideManualPlan leaves the plan to the card processor exactly while a card subscription runs",
    [stored, plan],
    ([before, wanted]) => {
      const isRefused = Either.isLeft(decideManualPlan(Option.some(before), wanted))
      assert.strictEqual(isRefused, before.byCard && before.status !== "canceled")
    }
  )

  it.prop(
    "decideManualPlan gives the wanted plan from any other state",
    [FastCheck.option(stored), plan],
    ([before, wanted]) => {
      const decided = decideManualPlan(Option.fromNullable(before), wanted)
      if (Either.isLeft(decided)) return
      const after = Option.match(decided.right, {
        onNone: () => "free",
        onSome: findEffectivePlan
      })
      assert.strictEqual(after, wanted)
    }
  )

  it.prop("decideManualPlan ends a plan set by hand by the free plan", [plan], ([manualPlan]) => {
    const manual: StoredSubscription = { plan: manualPlan, status: "active", byCard: false }
    assert.isTrue(isManualPlan(manual))
    const ended = Option.getOrThrow(Either.getOrThrow(decideManualPlan(Option.some(manual), "free")))
    assert.isFalse(isManualPlan({ ...ended, byCard: false }))
  })
})
