import { Data, Either } from "effect"
import { type PlanFeatures, findPlansWith } from "../billing/subscriptions/PlanFeatures.ts"
import type { Skill } from "../skills/Skill.ts"
import { hasSkill } from "../skills/SkillAvailability.ts"
import type { AgentConfig } from "./Agent.ts"
import type { PlanId } from "../shared/PlanId.ts"

export class SkillSelectionInvalid extends Data.TaggedError("SkillSelectionInvalid")<{
  readonly skills: ReadonlyArray<string>
  readonly known: ReadonlyArray<string>
}> {}

export class PlanFeatureRequired extends Data.TaggedError("PlanFeatureRequired")<{
  readonly feature: "skill" | "channel"
  readonly id: string
  readonly plans: ReadonlyArray<PlanId>
}> {}

type Choice = Pick<AgentConfig, "channels" | "skills">

const added = <A>(requested: ReadonlyArray<A> | undefined, current: ReadonlyArray<A>): ReadonlyArray<A> =>
  (requested ?? []).filter((item) => !current.includes(item))

/** Validates new skills only, since an agent may keep skills that are no longer in the catalog. */
export const validateSkillSelection = (
  catalog: ReadonlyArray<Skill>,
  current: Choice,
  requested: Partial<Choice>
): Either.Either<void, SkillSelectionInvalid> => {
  const skillIds = catalog.map(({ id }) => id)
  const skills = added(requested.skills, current.skills).filter((id) => !skillIds.includes(id))
  return skills.length === 0 ? Either.void : Either.left(new SkillSelectionInvalid({ skills, known: skillIds }))
}

/** Fails with the first new channel or skill that the plan does not include. Skills must be in the catalog. */
export const validatePlanFeatures = (
  catalog: ReadonlyArray<Skill>,
  features: PlanFeatures,
  current: Choice,
  requested: Partial<Choice>
): Either.Either<void, PlanFeatureRequired> => {
  const channel = added(requested.channels, current.channels).find(
    (candidate) => !features.channels.includes(candidate)
  )
  if (channel !== undefined)
    return Either.left(
      new PlanFeatureRequired({
        feature: "channel",
        id: channel,
        plans: findPlansWith(({ channels }) => channels.includes(channel))
      })
    )
  const addedSkills = added(requested.skills, current.skills)
  const skill = catalog.find((candidate) => addedSkills.includes(candidate.id) && !hasSkill(features, candidate))
  return skill === undefined
    ? Either.void
    : Either.left(
        new PlanFeatureRequired({
          feature: "skill",
          id: skill.id,
          plans: findPlansWith((of) => hasSkill(of, skill))
        })
      )
}

export const deduplicateSelections = (requested: Partial<AgentConfig>): Partial<AgentConfig> => ({
  ...requested,
  ...(requested.channels === undefined ? {} : { channels: [...new Set(requested.channels)] }),
  ...(requested.skills === undefined ? {} : { skills: [...new Set(requested.skills)] })
})
