import { Data, Either } from "effect"
import type { PlanId } from "../billing/Plan.ts"
import { type PlanFeatures, plansWith } from "../billing/PlanFeatures.ts"
import type { Skill } from "../skills/Skill.ts"
import { hasSkill } from "../skills/UsableSkills.ts"
import type { AgentConfig } from "./Agent.ts"

/** A configuration names skills that this service does not have. */
export class SkillsAreUnknown extends Data.TaggedError("SkillsAreUnknown")<{
  readonly skills: ReadonlyArray<string>
  readonly known: ReadonlyArray<string>
}> {}

/** A skill or channel is part of other plans than the owner's. */
export class PlanFeatureIsRequired extends Data.TaggedError("PlanFeatureIsRequired")<{
  readonly feature: "skill" | "channel"
  readonly id: string
  /** The plans that have it. */
  readonly plans: ReadonlyArray<PlanId>
}> {}

type Choice = Pick<AgentConfig, "channels" | "skills">

const added = <A>(asked: ReadonlyArray<A> | undefined, kept: ReadonlyArray<A>): ReadonlyArray<A> =>
  (asked ?? []).filter((one) => !kept.includes(one))

/** Only what is new is looked at: what an agent has already, from a larger plan for example, may be sent back as it is. */
export const refuseUnknownSkills = (
  catalogue: ReadonlyArray<Skill>,
  kept: Choice,
  asked: Partial<Choice>
): Either.Either<void, SkillsAreUnknown> => {
  const known = catalogue.map(({ id }) => id)
  const skills = added(asked.skills, kept.skills).filter((id) => !known.includes(id))
  return skills.length === 0 ? Either.void : Either.left(new SkillsAreUnknown({ skills, known }))
}

/** The first of what is new that the plan does not have. Skills must be known. */
export const refuseBeyondPlan = (
  catalogue: ReadonlyArray<Skill>,
  features: PlanFeatures,
  kept: Choice,
  asked: Partial<Choice>
): Either.Either<void, PlanFeatureIsRequired> => {
  const channel = added(asked.channels, kept.channels).find((one) => !features.channels.includes(one))
  if (channel !== undefined)
    return Either.left(
      new PlanFeatureIsRequired({
        feature: "channel",
        id: channel,
        plans: plansWith(({ channels }) => channels.includes(channel))
      })
    )
  const wanted = added(asked.skills, kept.skills)
  const skill = catalogue.find((one) => wanted.includes(one.id) && !hasSkill(features, one))
  return skill === undefined
    ? Either.void
    : Either.left(
        new PlanFeatureIsRequired({
          feature: "skill",
          id: skill.id,
          plans: plansWith((of) => hasSkill(of, skill))
        })
      )
}

/** Each channel and skill once, however often it is named. */
export const withoutRepeats = (asked: Partial<AgentConfig>): Partial<AgentConfig> => ({
  ...asked,
  ...(asked.channels === undefined ? {} : { channels: [...new Set(asked.channels)] }),
  ...(asked.skills === undefined ? {} : { skills: [...new Set(asked.skills)] })
})
