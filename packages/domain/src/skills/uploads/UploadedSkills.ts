import { Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import { SkillCatalog } from "../Skill.ts"
import { toolParameters } from "../tools/ToolParameters.ts"
import { SkillInvalid, skillLimits, type UploadedSkill, UploadedSkillLimitReached } from "./SkillPackage.ts"
import { UploadedSkillRepository } from "./UploadedSkillRepository.ts"

export class UploadedSkills extends Effect.Service<UploadedSkills>()("@berth/UploadedSkills", {
  effect: Effect.gen(function* () {
    const catalog = yield* SkillCatalog
    const { list, read, remove, save, sumOthers } = yield* UploadedSkillRepository
    const ownTools = new Set(["read_skill", ...Object.keys(toolParameters), ...catalog.flatMap(({ tools }) => tools)])

    /** Joins the running transaction. Replaces the agent's uploaded skill of the same name. */
    const store = Effect.fn("UploadedSkills.store")(function* (
      ownerId: UserId,
      agentId: AgentId,
      skill: UploadedSkill
    ) {
      if (catalog.some(({ id }) => id === skill.id))
        return yield* new SkillInvalid({ reason: `name: ${skill.id} is a skill of this service. Choose another name.` })
      const bytes = skill.size + (yield* sumOthers(ownerId, agentId, skill.id))
      if (bytes > skillLimits.ownerBytes)
        return yield* new UploadedSkillLimitReached({
          reason: `Your uploaded skills would have ${bytes} bytes; ${skillLimits.ownerBytes} are allowed. Delete one first.`
        })
      const others = (yield* list(agentId)).filter(({ id }) => id !== skill.id)
      if (others.length >= skillLimits.skillsPerAgent)
        return yield* new UploadedSkillLimitReached({
          reason: `An agent has at most ${skillLimits.skillsPerAgent} uploaded skills. Delete one first.`
        })
      const duplicate = skill.tools.find(
        (name) => ownTools.has(name) || others.some(({ tools }) => tools.includes(name))
      )
      if (duplicate !== undefined)
        return yield* new SkillInvalid({
          reason: `tools.json: the name ${duplicate} belongs to a tool of another skill.`
        })
      return yield* save(agentId, skill)
    })

    return { list, read, store, remove }
  })
}) {}
