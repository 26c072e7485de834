import { Effect, Option } from "effect"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { SkillPackages, type SkillSource } from "../skills/uploads/SkillPackage.ts"
import { UploadedSkills } from "../skills/uploads/UploadedSkills.ts"
import type { Agent } from "./Agent.ts"
import { SkillNotFound } from "./AgentConfiguration.ts"
import { AgentNotFound } from "./AgentErrors.ts"
import { AgentInstances } from "./AgentInstances.ts"
import { ReconfigureInstanceJob } from "./AgentJobs.ts"
import { AgentRepository } from "./AgentRepository.ts"
import { isUp } from "./AgentStatus.ts"

/** Skills that owners upload for one agent. Only its instance runs their code. */
export class SkillUploads extends Effect.Service<SkillUploads>()("@berth/SkillUploads", {
  dependencies: [UploadedSkills.Default],
  effect: Effect.gen(function* () {
    const agents = yield* AgentRepository
    const instances = yield* AgentInstances
    const outbox = yield* Outbox
    const packages = yield* SkillPackages
    const uploads = yield* UploadedSkills
    const transaction = yield* Transaction

    /** The row first, then the running instance. The job repeats the second step. */
    const store = <A, E>(agent: Agent, work: Effect.Effect<A, E>) =>
      Effect.gen(function* () {
        const stored = yield* transaction.run(
          Effect.zipLeft(work, outbox.append(ReconfigureInstanceJob, { userId: agent.ownerId }, agent.ownerId))
        )
        if (isUp(agent.status))
          yield* Effect.catchAll(instances.reconfigure(agent.ownerId), ({ reason }) =>
            Effect.logWarning("Reconfiguration after a change of skills is left to the job").pipe(
              Effect.annotateLogs({ agentId: agent.id, reason })
            )
          )
        return stored
      })

    const enable = (agent: Agent, id: string, enabled: boolean) =>
      Effect.flatMap(
        agents.setSkill(agent.id, id, enabled),
        Option.match({ onNone: () => new AgentNotFound(), onSome: () => Effect.void })
      )

    /** Stores and enables a skill; replaces the agent's uploaded skill of the same name. */
    const upload = Effect.fn("SkillUploads.upload")(function* (agent: Agent, source: SkillSource) {
      const skill = yield* packages.read(source)
      // First the agent's row: its removal waits for the transaction.
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
