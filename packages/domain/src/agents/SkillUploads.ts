import { Effect, Option } from "effect"
import { SkillPackages, type SkillSource } from "../skills/uploads/SkillPackage.ts"
import { UploadedSkills } from "../skills/uploads/UploadedSkills.ts"
import type { Agent } from "./Agent.ts"
import { SkillNotFound } from "./AgentConfiguration.ts"
import { AgentNotFound } from "./AgentErrors.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { makeReconfiguringChange } from "./ReconfiguringChange.ts"

/** Skills that owners upload for an agent. Only the agent's instance runs their code. */
export class SkillUploads extends Effect.Service<SkillUploads>()("@berth/SkillUploads", {
  dependencies: [UploadedSkills.Default],
  effect: Effect.gen(function* () {
    const agents = yield* AgentRepository
    const packages = yield* SkillPackages
    const uploads = yield* UploadedSkills
    const store = yield* makeReconfiguringChange

    const enable = (agent: Agent, id: string, enabled: boolean) =>
      Effect.flatMap(
        agents.setSkill(agent.id, id, enabled),
        Option.match({ onNone: () => new AgentNotFound(), onSome: () => Effect.void })
      )

    /** Stores and enables a skill; replaces the agent's uploaded skill of the same name. */
    const upload = Effect.fn("SkillUploads.upload")(function* (agent: Agent, source: SkillSource) {
      const skill = yield* packages.read(source)
      // The agent's row first: its deletion waits for this transaction.
      return yield* store(
        agent,
        Effect.zipRight(enable(agent, skill.id, true), uploads.store(agent.ownerId, agent.id, skill))
      )
    })

    const list = Effect.fn("SkillUploads.list")((agent: Agent) => uploads.list(agent.id))

    const remove = Effect.fn("SkillUploads.remove")(function* (agent: Agent, id: string) {
      const removal = Effect.gen(function* () {
        if (!(yield* uploads.remove(agent.id, id))) return yield* new SkillNotFound()
        yield* enable(agent, id, false)
      })
      yield* store(agent, removal)
    })

    return { upload, list, remove }
  })
}) {}
