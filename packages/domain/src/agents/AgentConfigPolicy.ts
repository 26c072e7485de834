import { Data, Either } from "effect"
import { type PlanFeatures, findPlansWith } from "../billing/subscriptions/PlanFeatures.ts"
import type { Skill } from "../skills/Skill.ts"
import { hasSkill } from "../skills/SkillAvailability.ts"
import type { AgentConfig } from "./Agent.ts"
import type { PlanId } from "../shared/PlanId.ts"

/** A configuration names skills that this service does not have. */
export class SkillSelectionInvalid extends Data.TaggedError("SkillSelectionInvalid")<{
  readonly skills: ReadonlyArray<string>
  readonly known: ReadonlyArray<string>
}> {}

/** A skill or channel is part of other plans than the owner's. */
export class PlanFeatureRequired extends Data.TaggedError("PlanFeatureRequired")<{
  readonly feature: "skill" | "channel"
  readonly id: string
  /** The plans that have it. */
  readonly plans: ReadonlyArray<PlanId>
}> {}

type Choice = Pick<AgentConfig, "channels" | "skills">

const added = <A>(asked: ReadonlyArray<A> | undefined, kept: ReadonlyArray<A>): ReadonlyArray<A> =>
  (asked ?? []).filter((one) => !kept.includes(one))

/** Only what is new is looked at: what an agent has already, from a larger plan for example, may be sent back as it is. */
export const validateSkillSelection = (
  catalogue: ReadonlyArray<Skill>,
  kept: Choice,
  asked: Partial<Choice>
): Either.Either<void, SkillSelectionInvalid> => {
  const known = catalogue.map(({ id }) => id)
  const skills = added(asked.skills, kept.skills).filter((id) => !known.includes(id))
  return skills.length === 0 ? Either.void : Either.left(new SkillSelectionInvalid({ skills, known }))
}

/** The first of what is new that the plan does not have. Skills must be known. */
export const validatePlanFeatures = (
  catalogue: ReadonlyArray<Skill>,
  features: PlanFeatures,
  kept: Choice,
  asked: Partial<Choice>
): Either.Either<void, PlanFeatureRequired> => {
  const channel = added(asked.channels, kept.channels).find((one) => !features.channels.includes(one))
  if (channel !== undefined)
    return Either.left(
      new PlanFeatureRequired({
        feature: "channel",
        id: channel,
        plans: findPlansWith(({ channels }) => channels.includes(channel))
      })
    )
  const wanted = added(asked.skills, kept.skills)
  const skill = catalogue.find((one) => wanted.includes(one.id) && !hasSkill(features, one))
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

/** Each channel and skill once, however often it is named. */
export const deduplicateSelections = (asked: Partial<AgentConfig>): Partial<AgentConfig> => ({
  ...asked,
  ...(asked.channels === undefined ? {} : { channels: [...new Set(asked.channels)] }),
  ...(asked.skills === undefined ? {} : { skills: [...new Set(asked.skills)] })
})
