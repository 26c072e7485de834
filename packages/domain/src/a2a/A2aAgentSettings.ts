import { Effect } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { AgentConfiguration, SkillNotFound } from "../agents/AgentConfiguration.ts"
import type { User } from "../shared/User.ts"
import { A2aRepository } from "./A2aRepository.ts"

/** Settings of an agent for messages of others: its allowed senders and its offered skills. */
export class A2aAgentSettings extends Effect.Service<A2aAgentSettings>()("@berth/A2aAgentSettings", {
  effect: Effect.gen(function* () {
    const configuration = yield* AgentConfiguration
    const repository = yield* A2aRepository

    const read = Effect.fn("A2aAgentSettings.read")((agent: Agent) => repository.readSettings(agent.id))

    /** Replaces the allowed owners and agents. Senders of the same owner are always allowed. */
    const allow = Effect.fn("A2aAgentSettings.allow")(function* (agent: Agent, entries: ReadonlyArray<string>) {
      const allow = [...new Set(entries)]
      yield* repository.writeSettings(agent.id, { allow })
      return allow
    })

    /** Replaces the offered skills. A skill that the agent may no longer use is not offered. */
    const offer = Effect.fn("A2aAgentSettings.offer")(function* (
      owner: User,
      agent: Agent,
      skillIds: ReadonlyArray<string>
    ) {
      const available = new Set((yield* configuration.listSkills(owner, agent)).map(({ skill }) => skill.id))
      const skills = [...new Set(skillIds)]
      if (skills.some((id) => !available.has(id))) return yield* new SkillNotFound()
      yield* repository.writeSettings(agent.id, { skills })
      return skills
    })

    return { read, allow, offer }
  })
}) {}
