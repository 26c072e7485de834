import {
  validatePlanFeatures,
  validateSkillSelection,
  deduplicateSelections
} from "@berth/domain/agents/AgentConfigPolicy"
import { allFeatures, findPlanFeatures, findPlansWith } from "@berth/domain/billing/subscriptions/PlanFeatures"
import { Channel } from "@berth/domain/shared/Channel"
import type { Skill } from "@berth/domain/skills/Skill"
import { listBasicSkillIds, hasSkill, selectUsableSkills } from "@berth/domain/skills/SkillAvailability"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { PlanId } from "@berth/domain/shared/PlanId"

const skill = (id: string, basic: boolean): Skill => ({
  id,
  name: id,
  description: id,
  instructions: id,
  tools: [],
  basic
})
const catalog = [skill("time", true), skill("web-fetch", false), skill("memory", true), skill("files", false)]
const ids = catalog.map(({ id }) => id)

const anyPlan = FastCheck.constantFrom(...PlanId.literals)
const anySkills = FastCheck.array(FastCheck.constantFrom(...ids), { maxLength: 6 })
const anyText = FastCheck.array(FastCheck.oneof(FastCheck.constantFrom(...ids), FastCheck.string()), { maxLength: 6 })
const anyChannels = FastCheck.array(FastCheck.constantFrom(...Channel.literals), { maxLength: 5 })
const choice = FastCheck.record({ skills: anySkills, channels: anyChannels })

describe("The features of a plan", () => {
  const basic = ["free", "starter"]
  const channels: Record<PlanId, ReadonlyArray<Channel>> = {
    free: ["platformA"],
    starter: ["platformA"],
    solo: ["platformA"],
    collective: ["platformA", "platformB"],
    label: ["platformA", "platformB", "platformC"],
    network: ["platformA", "platformB", "platformC"],
    pro: ["platformA", "platformB", "platformC"],
    scale: ["platformA", "platformB", "platformC"],
    enterprise: ["platformA", "platformB", "platformC"]
  }
  for (const plan of PlanId.literals)
    it(`${plan} has ${channels[plan].join(", ")} beside the web, and ${basic.includes(plan) ? "basic" : "all"} skills`, () => {
      assert.sameMembers([...findPlanFeatures(plan).channels], ["web", ...channels[plan]])
      assert.strictEqual(findPlanFeatures(plan).skills, basic.includes(plan) ? "basic" : "all")
    })
  it("The features of an administrator are those of every plan", () => {
    assert.sameMembers([...allFeatures.channels], [...Channel.literals])
    assert.strictEqual(allFeatures.skills, "all")
  })
})

describe("A configuration", () => {
  it.prop("A configuration may name known skills only", [anyText], ([skills]) => {
    const unknown = skills.filter((id) => !ids.includes(id))
    const outcome = validateSkillSelection(catalog, { skills: [], channels: [] }, { skills })
    assert.deepStrictEqual(
      Either.match(outcome, { onLeft: ({ skills: named, known }) => ({ named, known }), onRight: () => null }),
      unknown.length === 0 ? null : { named: unknown, known: ids }
    )
  })

  it.prop(
    "A configuration may be sent back unchanged, whatever is in it",
    [anyPlan, anyText, anyChannels],
    ([plan, skills, channels]) => {
      const kept = { skills, channels }
      assert.isTrue(Either.isRight(validateSkillSelection(catalog, kept, kept)))
      assert.isTrue(Either.isRight(validatePlanFeatures(catalog, findPlanFeatures(plan), kept, kept)))
      assert.isTrue(Either.isRight(validatePlanFeatures(catalog, findPlanFeatures(plan), kept, {})))
    }
  )

  it.prop(
    "A configuration may gain only features of the plan, and the error names a plan with the others",
    [anyPlan, choice, choice],
    ([plan, kept, requested]) => {
      const features = findPlanFeatures(plan)
      const refused = [
        ...requested.channels.filter((one) => !kept.channels.includes(one) && !features.channels.includes(one)),
        ...catalog
          .filter(({ id }) => requested.skills.includes(id) && !kept.skills.includes(id))
          .filter((one) => !hasSkill(features, one))
          .map(({ id }) => id)
      ]
      const outcome = Either.flip(validatePlanFeatures(catalog, features, kept, requested))
      assert.strictEqual(Either.isRight(outcome), refused.length > 0)
      if (Either.isLeft(outcome)) return
      const { feature, id, plans } = outcome.right
      assert.strictEqual(id, refused[0])
      assert.notInclude(plans, plan)
      assert.isAbove(plans.length, 0)
      for (const other of plans)
        assert.isTrue(
          Either.isRight(
            validatePlanFeatures(
              catalog,
              findPlanFeatures(other),
              { skills: [], channels: [] },
              feature === "skill"
                ? { skills: [id] }
                : { channels: Channel.literals.filter((channel) => channel === id) }
            )
          )
        )
    }
  )

  it.prop("A configuration has each entry once, in the order of first mention", [choice], ([requested]) => {
    const { channels = [], skills = [] } = deduplicateSelections(requested)
    assert.deepStrictEqual(
      skills,
      requested.skills.filter((id, at) => requested.skills.indexOf(id) === at)
    )
    assert.deepStrictEqual(
      channels,
      requested.channels.filter((id, at) => requested.channels.indexOf(id) === at)
    )
    assert.deepStrictEqual(deduplicateSelections({ timezone: "UTC" }), { timezone: "UTC" })
  })
})

describe("The skills that work", () => {
  it.prop(
    "The active skills of an agent are those chosen, known and part of the plan, in the catalog's order",
    [anyPlan, anyText],
    ([plan, chosen]) => {
      const features = findPlanFeatures(plan)
      assert.deepStrictEqual(
        selectUsableSkills(catalog, features, chosen).map(({ id }) => id),
        ids.filter((id) => chosen.includes(id) && (features.skills === "all" || ["time", "memory"].includes(id)))
      )
    }
  )
  it("The active skills of a new agent are the basic ones", () =>
    assert.deepStrictEqual(listBasicSkillIds(catalog), ["time", "memory"]))
  it("The active skills include every chosen skill in all plans except those with basic skills", () =>
    assert.deepStrictEqual(
      findPlansWith((features) => hasSkill(features, { basic: false })),
      PlanId.literals.filter((plan) => plan !== "free" && plan !== "starter")
    ))
})
